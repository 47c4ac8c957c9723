package packages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
	"codemode/internal/sandbox/python"

	"golang.org/x/sync/errgroup"
)

// simpleJSON is what an index is asked for, PEP 691; one that only has pages says nothing of sizes and dates.
const simpleJSON = "application/vnd.pypi.simple.v1+json"

const (
	maxIndexPage = 64 << 20
	indexTime    = 20 * time.Second
	atOnce       = 6
)

// indexFile is a file of a package, as an index lists it (PEP 691, 700).
type indexFile struct {
	Name   string    `json:"filename"`
	Size   int64     `json:"size"`
	Upload time.Time `json:"upload-time"`
	Yanked any       `json:"yanked"` // false, true, or why

	Hashes map[string]string `json:"hashes"`
}

// files are an index's of a package; none of one that it does not have, or lists in pages alone. The error is why it
// could not be asked.
func (s *Store) files(ctx context.Context, w Wish, name string) ([]indexFile, error) {
	if w.Index == NoIndex {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, indexTime)
	defer cancel()
	address, err := url.JoinPath(w.Index, Normal(name), "/")
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", simpleJSON)
	answer, err := s.Client.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) { // whose text has the address
			err = at.Err
		}
		return nil, err
	}
	defer answer.Body.Close()
	var page struct {
		Files []indexFile `json:"files"`
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNotFound {
		return nil, fmt.Errorf("it answered %s", answer.Status)
	}
	if answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), simpleJSON) ||
		json.NewDecoder(io.LimitReader(answer.Body, maxIndexPage)).Decode(&page) != nil {
		return nil, nil
	}
	return page.Files, nil
}

// describe adds to a lock what the index tells of its wheels. What it does not tell is not shown.
func (s *Store) describe(ctx context.Context, l *Lock, index string) {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range l.Packages {
		w := &l.Packages[i].Wheels[0]
		name := l.Packages[i].Name
		if file, ok := fileOf(w.URL); ok {
			if info, err := os.Stat(file); err == nil { // where it is not, fetching says so
				w.Size = info.Size()
			}
			continue
		}
		g.Go(func() error {
			files, _ := s.files(ctx, Wish{Index: index}, name) // what is not told is not shown
			for _, f := range files {
				if f.Name == w.Name && f.Hashes["sha256"] == w.Hashes["sha256"] {
					w.Size, w.Upload = max(f.Size, 0), f.Upload
				}
			}
			return nil
		})
	}
	_ = g.Wait() // nobody fails
}

// mayBeYoung tells whether a version appeared after a moment, or at one that the index does not tell.
func (s *Store) mayBeYoung(ctx context.Context, w Wish, requirement, version string, cutoff time.Time) bool {
	if w.Index == NoIndex {
		return false // files in folders have no such moment, and pip does not ask for one
	}
	name, told := Named(requirement), false
	files, _ := s.files(ctx, w, name) // pip says why
	for _, f := range files {
		if isOf(f.Name, name, version) && (f.Upload.IsZero() || f.Upload.After(cutoff)) {
			return true
		}
		told = told || !f.Upload.IsZero()
	}
	return !told
}

// isOf tells whether a file is a wheel of that version.
func isOf(file, name, version string) bool {
	parts := strings.Split(file, "-")
	return strings.HasSuffix(file, ".whl") && len(parts) >= 5 && Normal(parts[0]) == name && parts[1] == version
}

// inFolders are the files of a package that the folders of --find-links hold.
func (w Wish) inFolders(name string) (list []indexFile) {
	for _, dir := range w.FindLinks {
		entries, _ := os.ReadDir(dir) // what is no folder was refused before
		for _, e := range entries {
			rest, of := strings.CutPrefix(Normal(e.Name()), Normal(name)+"-")
			kind := filepath.Ext(e.Name())
			if of && rest[:1] >= "0" && rest[:1] <= "9" && slices.Contains([]string{".whl", ".gz", ".zip"}, kind) {
				list = append(list, indexFile{Name: e.Name()})
			}
		}
	}
	return list
}

// unaskedText is how pip tells that an index gave no answer, in the words of pip.py.
var unaskedText = lazyregexp.New(`the index cannot be asked for (\S+): (.{0,300})`)

// unasked is the error of an index that gave no answer.
func (s *Store) unasked(ctx context.Context, w Wish, name, reason string) error {
	_, err := s.files(ctx, w, name)
	if err == nil {
		err = errors.New(reason) // that of another moment
	}
	return w.unreachable(name, err)
}

func (w Wish) unreachable(name string, err error) error {
	hints := []string{"proxies are those of HTTPS_PROXY and NO_PROXY; another index: --index, or packages.index in config.toml"}
	if len(w.FindLinks) > 0 {
		hints = append(hints, "to take wheels from folders alone: --no-index")
	}
	return hint.New(fmt.Sprintf("%s cannot be asked for %q: %v; nothing was added", w.Source(), name, err), hints...)
}

var lackingText = lazyregexp.New(
	`satisfies the requirement (\S+?)(\[[^\]]*\])?([<>=!~;].*?)?(?: \(from ([^ ()]+)\))? \(from versions: (.*)\)`,
)

// neededBy is the part of a sentence that says by what a package is needed; empty where it was asked for.
func neededBy(name string) string {
	if name == "" {
		return ""
	}
	return ", which " + name + " needs"
}

// lacking says of what pip found no version, and why, by what the index has of it; nil where it cannot tell.
func (s *Store) lacking(ctx context.Context, w Wish, said string, py *python.Interpreter, cutoff time.Time) error {
	m := lackingText().FindStringSubmatch(said)
	if m == nil {
		return nil
	}
	name, asked, needed, versions := m[1], m[3], neededBy(m[4]), m[5]
	files, err := s.files(ctx, w, name)
	if err != nil {
		return w.unreachable(name, err)
	}
	files = append(files, w.inFolders(name)...)
	var young []string
	var newest time.Time
	wheels, yanked := 0, 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name, ".whl") {
			continue
		}
		wheels++
		if f.Yanked != nil && f.Yanked != false {
			yanked++
		}
		if !f.Upload.IsZero() && f.Upload.After(cutoff) && w.Cooldown > 0 {
			if parts := strings.Split(f.Name, "-"); len(parts) >= 5 && !slices.Contains(young, parts[1]) {
				young = append(young, parts[1])
			}
			if f.Upload.After(newest) {
				newest = f.Upload
			}
		}
	}
	const none = "; nothing was added"
	switch {
	case len(files) == 0 && versions == "none":
		advice := "its name may be another than what is imported, as with scikit-learn and sklearn"
		if w.Index == NoIndex {
			advice = "no index is asked (--no-index holds for what is added later, too); to ask one: --index URL"
		}
		text := fmt.Sprintf("%s has no package %q%s, or no wheel of it%s", w.Source(), name, needed, none)
		return hint.New(text, advice)
	case len(files) > 0 && wheels == 0:
		return hint.New(fmt.Sprintf("of %q%s there is source alone, and no wheel%s: what is built while it is added "+
			"runs a stranger's code", name, needed, none),
			"build its wheel yourself (pip wheel "+hint.Word(name)+"), and add it with --find-links DIR")
	case wheels > 0 && wheels == yanked:
		return hint.New(fmt.Sprintf("every version of %q was withdrawn by its authors (yanked)%s", name, none),
			"to take one all the same, ask for it by number: codemode packages add "+hint.Word(name+"==VERSION"))
	case len(young) > 0 && versions == "none":
		last := young[len(young)-1]
		return hint.New(fmt.Sprintf("every version of %q that could be taken is younger than packages.cooldown, %v "+
			"(the newest is of %s)%s", name, w.Cooldown, newest.Format(time.DateOnly), none),
			"to take one all the same, ask for it by number: codemode packages add "+hint.Word(name+"=="+last))
	case versions == "none":
		return hint.New(fmt.Sprintf("no wheel of %q is for Python %s on this system%s", name, py.Version, none),
			"another interpreter may have one: sandbox.python, or --python")
	}
	return hint.New(fmt.Sprintf("%s; those for Python %s are %s%s",
		unfit(name, strings.TrimSpace(asked), needed, versions), py.Version, versions, none))
}

// unfit says why none of the versions that there are is taken. Of one that was asked for, pip has refused the wheel.
func unfit(name, asked, needed, versions string) string {
	const unlike = " can be used: its METADATA cannot be read, or names another package or version than its file"
	exact, isExact := strings.CutPrefix(asked, "==")
	switch {
	case asked == "":
		return fmt.Sprintf("no version of %q%s%s", name, needed, unlike)
	case isExact && slices.Contains(strings.Split(versions, ", "), exact):
		return fmt.Sprintf("no version of %q that is %s%s%s", name, asked, needed, unlike)
	}
	return fmt.Sprintf("there is no version of %q that is %s%s", name, asked, needed)
}
