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
		if file, ok := strings.CutPrefix(w.URL, "file://"); ok {
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

// isYoung tells whether a version appeared after a moment.
func (s *Store) isYoung(ctx context.Context, w Wish, requirement, version string, cutoff time.Time) bool {
	name := Named(requirement)
	files, _ := s.files(ctx, w, name) // pip says why
	for _, f := range files {
		if isOf(f.Name, name, version) && !f.Upload.IsZero() && f.Upload.After(cutoff) {
			return true
		}
	}
	return false
}

// isOf tells whether a file is a wheel of that version.
func isOf(file, name, version string) bool {
	parts := strings.Split(file, "-")
	return strings.HasSuffix(file, ".whl") && len(parts) >= 5 && Normal(parts[0]) == name && parts[1] == version
}

var lackingText = lazyregexp.New(`satisfies the requirement (\S+?)(\[[^\]]*\])?([<>=!~].*)? \(from versions: (.*)\)`)

// lacking says of what pip found no version, and why, by what the index has of it; nil where it cannot tell.
func (s *Store) lacking(ctx context.Context, w Wish, said string, py *python.Interpreter, cutoff time.Time) error {
	m := lackingText().FindStringSubmatch(said)
	if m == nil {
		return nil
	}
	name, asked := m[1], m[3]
	files, err := s.files(ctx, w, name)
	if err != nil {
		return hint.New(fmt.Sprintf("%s cannot be asked for %q: %v; nothing was added", w.Source(), name, err),
			"proxies are those of HTTPS_PROXY and NO_PROXY; another index: --index, or packages.index in config.toml")
	}
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
	case len(files) == 0:
		return hint.New(fmt.Sprintf("%s has no package %q, or no wheel of it%s", w.Source(), name, none),
			"its name may be another than what is imported, as with scikit-learn and sklearn")
	case wheels == 0:
		return hint.New(fmt.Sprintf("of %q there is source alone, and no wheel%s: what is built while it is added "+
			"runs a stranger's code", name, none),
			"build its wheel yourself (pip wheel "+hint.Word(name)+"), and add it with --find-links DIR")
	case wheels == yanked:
		return hint.New(fmt.Sprintf("every version of %q was withdrawn by its authors (yanked)%s", name, none),
			"to take one all the same, ask for it by number: codemode packages add "+hint.Word(name+"==VERSION"))
	case len(young) > 0 && m[4] == "none":
		last := young[len(young)-1]
		return hint.New(fmt.Sprintf("every version of %q that could be taken is younger than packages.cooldown, %v "+
			"(the newest is of %s)%s", name, w.Cooldown, newest.Format(time.DateOnly), none),
			"to take one all the same, ask for it by number: codemode packages add "+hint.Word(name+"=="+last))
	case m[4] == "none":
		return hint.New(fmt.Sprintf("no wheel of %q is for Python %s on this system%s", name, py.Version, none),
			"another interpreter may have one: sandbox.python, or --python")
	}
	return hint.New(fmt.Sprintf("there is no version of %q that is %s; those for Python %s are %s%s",
		name, strings.TrimSpace(asked), py.Version, m[4], none))
}
