package packages

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codemode/internal/fileerr"
	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
	"codemode/internal/plainfile"
	"codemode/internal/redact"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"
)

// runPip runs pip so that nothing of a package is executed.
//
//go:embed pip.py
var runPip string

// maxReport bounds what pip reports: of each package its whole description is in it.
const maxReport = 256 << 20

// report is pip's, https://pip.pypa.io/en/stable/reference/installation-report/ (version 1, pip 26.1).
type report struct {
	Install []struct {
		Download struct {
			URL     string `json:"url"`
			Archive struct {
				Hashes map[string]string `json:"hashes"`
			} `json:"archive_info"`
		} `json:"download_info"`
		Yanked   bool `json:"is_yanked"`
		Metadata struct {
			Name       string   `json:"name"`
			Version    string   `json:"version"`
			Licence    string   `json:"license"`
			Expression string   `json:"license_expression"`
			Classifier []string `json:"classifier"`
			Needs      []string `json:"requires_dist"`
		} `json:"metadata"`
	} `json:"install"`
}

// Resolve has pip choose what a wish comes to. What keep has stays at its version as far as it is not named in
// change; with nil, everything may change. Nothing is fetched into the store.
func (s *Store) Resolve(ctx context.Context, w Wish, keep *Lock, change []string) (*Lock, error) {
	if len(w.Requirements) == 0 {
		return &Lock{}, nil
	}
	if err := w.checkFolders(); err != nil {
		return nil, err
	}
	py, err := s.Source.Prepare(ctx)
	if err != nil {
		return nil, err
	}
	lib, err := s.Source.Pip(ctx, py)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Cache, 0o755); err != nil {
		return nil, fmt.Errorf("making a folder for packages: %w", err)
	}
	guard, err := s.guard(ctx) // whoever has it knows that other temporary files are of the dead
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	s.sweep()
	r := &resolution{
		store: s, py: py, lib: lib, wish: w, had: keep, change: change, cutoff: time.Now().Add(-w.Cooldown),
	}
	r.lines = slices.Clone(w.Requirements)
	made, notes, err := s.collect(ctx, w, keep, change)
	if err != nil {
		return nil, err
	}
	r.keep(made, keep, change)
	s.progress("asking " + w.Source() + " what " + strings.Join(w.Requirements, ", ") + " comes to")
	if err := r.exemptPins(ctx); err != nil {
		return nil, err
	}
	found, err := r.pip(ctx, r.lines, r.constraints, w.Cooldown > 0)
	if err != nil {
		return nil, err
	}
	lock, err := found.lock(w, py)
	if err == nil {
		err = w.Sums.check(lock, w.Source())
	}
	if err != nil {
		return nil, err
	}
	lock.Notes = notes
	s.describe(ctx, lock, w.Index)
	return lock, nil
}

// keep has pip take what was made and what stays, and no other version of it.
func (r *resolution) keep(made []collected, keep *Lock, change []string) {
	for _, c := range made {
		r.constraints = append(r.constraints, c.requirement())
	}
	if keep == nil {
		return
	}
	for _, p := range keep.Packages {
		name := Normal(p.Name)
		if slices.ContainsFunc(change, func(c string) bool { return Normal(c) == name }) ||
			slices.ContainsFunc(made, func(c collected) bool { return c.name == name }) {
			continue
		}
		w := p.Wheel()
		if file, ok := fileOf(w.URL); ok && filepath.Dir(filepath.Dir(file)) == r.store.installed() {
			r.constraints = append(r.constraints, collected{name, w.URL, w.Hashes["sha256"]}.requirement())
			continue
		}
		r.constraints = append(r.constraints, r.staying(name, p))
	}
}

// staying has pip keep a version. One that is not known to be old is named by its address, since an index would be
// asked when it appeared.
func (r *resolution) staying(name string, p Package) string {
	w := p.Wheel()
	_, local := fileOf(w.URL)
	old := !w.Upload.IsZero() && !w.Upload.After(r.cutoff)
	if r.wish.Cooldown == 0 || old || local || !plainAddress().MatchString(w.URL) || !fits(wheelTag(w.Name), r.py.Tag) {
		return p.Name + "==" + p.Version
	}
	return collected{name, w.URL, w.Hashes["sha256"]}.requirement()
}

// fileOf is the path that an address of a file has.
func fileOf(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "file" {
		return "", false
	}
	return filepath.FromSlash(u.Path), true
}

// checkFolders refuses what is no folder that could hold wheels, and one with a pipe or a device in it, where pip would
// read without end, or with a page, whose links it would follow to wherever they lead.
func (w Wish) checkFolders() error {
	for _, dir := range w.FindLinks {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			info, gone := os.Stat(filepath.Join(dir, e.Name()))
			switch ext := strings.ToLower(filepath.Ext(e.Name())); {
			case gone == nil && !info.Mode().IsRegular() && !info.IsDir():
				err = fmt.Errorf("%q in it is no file", e.Name())
			case ext == ".html" || ext == ".htm":
				err = fmt.Errorf("%q in it is a page, whose links pip would follow", e.Name())
			}
		}
		if err != nil {
			return hint.New(fmt.Sprintf("--find-links %q: %v; nothing was added", dir, fileerr.Cause(err)),
				"a folder that holds wheels is meant; it was given now, or when packages were added before")
		}
	}
	return nil
}

// Source is where a wish is looked for, for people.
func (w Wish) Source() string {
	if w.Index == NoIndex {
		if len(w.FindLinks) == 0 {
			return "no index and no folder"
		}
		return strings.Join(w.FindLinks, ", ")
	}
	return public(w.Index)
}

// resolution is one question to pip.
type resolution struct {
	store       *Store
	py          *python.Interpreter
	lib         string
	wish        Wish
	had         *Lock // what was there, and stays but for what is in change
	change      []string
	cutoff      time.Time
	lines       []string // requirements, as pip reads them
	addresses   []string // that they may name
	constraints []string
}

// exemptPins exempts versions that were asked for by number from the cooldown, for which pip has no option: it resolves
// them first, by themselves, and then gives pip their URLs.
func (r *resolution) exemptPins(ctx context.Context) error {
	var young []string
	extras := map[string]string{}
	for i, line := range r.lines {
		version, pinned := pin(line)
		if pinned && r.wish.Cooldown > 0 && !r.isByAddress(line) &&
			r.store.mayBeYoung(ctx, r.wish, line, version, r.cutoff) {
			young = append(young, line)
			extras[Named(line)] = requirementText().FindStringSubmatch(line)[2]
			r.lines[i] = ""
		}
	}
	if len(young) == 0 {
		return nil
	}
	found, err := r.pip(ctx, young, []string{"--no-deps"}, false)
	if err != nil {
		return err
	}
	for _, p := range found.Install {
		address, _, _ := strings.Cut(p.Download.URL, "#")
		sum := p.Download.Archive.Hashes["sha256"]
		if !plainAddress().MatchString(address) || !nameText().MatchString(p.Metadata.Name) ||
			!sha256Text().MatchString(sum) {
			return fmt.Errorf(
				"the index gives package %.80q an address that cannot be used, or no SHA-256; nothing was added",
				p.Metadata.Name,
			)
		}
		r.addresses = append(r.addresses, address)
		r.lines = append(r.lines, p.Metadata.Name+extras[Normal(p.Metadata.Name)]+" @ "+address+"#sha256="+sum)
		r.constraints = slices.DeleteFunc(r.constraints, func(c string) bool {
			return Named(c) == Normal(p.Metadata.Name)
		})
	}
	return nil
}

// isByAddress tells whether the package of a requirement has its address already.
func (r *resolution) isByAddress(requirement string) bool {
	return slices.ContainsFunc(r.constraints, func(c string) bool {
		return strings.HasPrefix(c, Named(requirement)+" @ ")
	})
}

// plainAddress is an address as it may stand in a file for pip, which ends lines at many characters, and replaces
// ${NAME} by variables.
var plainAddress = lazyregexp.New(`^(https?|file)://[A-Za-z0-9._~:/?&=%+,!\[\]-]+$`)

// pin is the one version that a requirement allows.
func pin(requirement string) (version string, ok bool) {
	requirement, _, _ = strings.Cut(requirement, ";")
	_, version, ok = strings.Cut(requirement, "==")
	version = strings.TrimSpace(strings.TrimPrefix(version, "="))
	return version, ok && !strings.ContainsAny(version, ",*; ")
}

// pip asks pip. constraints may have an option among them.
func (r *resolution) pip(ctx context.Context, lines, constraints []string, cooldown bool) (*report, error) {
	s := r.store
	scratch, err := os.MkdirTemp(s.Cache, tempName+"pip-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for pip: %w", err)
	}
	defer os.RemoveAll(scratch)
	cache := filepath.Join(s.Cache, r.py.Own("pip"))
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, fmt.Errorf("making a folder for pip: %w", err)
	}
	result := filepath.Join(scratch, "report.json")
	args := r.pipArgs(scratch, cache, result, cooldown)
	if len(constraints) > 0 && constraints[0] == "--no-deps" {
		args, constraints = append(args, "--no-deps"), nil
	}
	files := map[string][]string{
		"requirements.txt": lines, "constraints.txt": constraints, "addresses": r.addresses,
		"arguments": {strings.Join(args, "\x00")}, // a folder's name may have a line's end
	}
	for name, list := range files {
		if err := os.WriteFile(filepath.Join(scratch, name), []byte(strings.Join(list, "\n")+"\n"), 0o644); err != nil {
			return nil, fmt.Errorf("writing for pip: %w", err)
		}
	}
	may := sandbox.Restrictions{
		Read: append([]string{r.lib}, r.wish.FindLinks...), Write: []string{scratch, cache},
		Network: r.wish.Index != NoIndex,
	}
	if _, err := os.Stat(s.installed()); err == nil {
		may.Read = append(may.Read, s.installed())
	}
	var said []string
	hidden := r.secrets()
	err = s.run(ctx, r.py, may, []string{runPip, r.lib, scratch}, func(line string) {
		line = hidden.Text(line)
		if len(said) < maxSaid {
			said = append(said, line)
		}
		if strings.HasPrefix(line, "Collecting ") || strings.HasPrefix(line, "Downloading ") {
			line, _, _ = strings.Cut(line, " (from ")
			s.progress(strings.ToLower(line[:1]) + line[1:])
		}
	})
	var failed *programError
	if errors.As(err, &failed) {
		failed.stderr = hidden.Text(failed.stderr)
		return nil, r.explain(ctx, said, failed)
	}
	if err != nil {
		return nil, fmt.Errorf("running pip: %w", err)
	}
	return readReport(result)
}

// secrets are what nothing may tell that pip says: who uses an index or a proxy, and by which password.
func (r *resolution) secrets() *redact.Redactor {
	var found redact.Secrets
	found.AddIn(r.wish.Index)
	for _, variable := range r.store.Env {
		_, value, _ := strings.Cut(variable, "=")
		found.AddIn(value)
	}
	return found.Redactor()
}

// pipArgs are the words of pip's command, with its files in scratch. They are told by a file as well: every user of the
// machine sees a process's arguments, and an index's address may have a password.
func (r *resolution) pipArgs(scratch, cache, result string, cooldown bool) []string {
	args := []string{
		"install", "--isolated", "--no-input", "--disable-pip-version-check", "--no-color", "--progress-bar", "off",
		"--retries", "2", "--timeout", "15", "--cache-dir", cache,
		"--dry-run", "--ignore-installed", "--only-binary", ":all:", "--report", result,
		"-r", filepath.Join(scratch, "requirements.txt"), "-c", filepath.Join(scratch, "constraints.txt"),
	}
	if r.wish.Index == NoIndex {
		args = append(args, "--no-index")
	} else {
		args = append(args, "--index-url", r.wish.Index)
	}
	for _, dir := range r.wish.FindLinks {
		args = append(args, "--find-links", dir)
	}
	if cooldown {
		args = append(args, "--uploaded-prior-to", r.cutoff.UTC().Format(time.RFC3339))
	}
	return args
}

// maxSaid is how many lines of pip's are kept for an explanation.
const maxSaid = 10_000

func readReport(file string) (*report, error) {
	data, err := plainfile.ReadWithin(filepath.Dir(file), filepath.Base(file), maxReport)
	var r report
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return nil, fmt.Errorf("reading pip's report: %w", err)
	}
	return &r, nil
}

// lock is what a report says, as a lock.
func (r *report) lock(w Wish, py *python.Interpreter) (*Lock, error) {
	minor := py.Version[:strings.LastIndexByte(py.Version, '.')]
	w.Index = public(w.Index)
	l := &Lock{Version: "1.0", CreatedBy: "codemode", RequiresPython: "==" + minor + ".*", Tool: tool{w}}
	for _, p := range r.Install {
		address, _, _ := strings.Cut(p.Download.URL, "#")
		u, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("package %q has no address: %w", p.Metadata.Name, err)
		}
		entry := Package{
			Name: Normal(p.Metadata.Name), Version: p.Metadata.Version, Wheels: []Wheel{{
				Name: path.Base(u.Path), URL: address,
				Hashes: map[string]string{"sha256": p.Download.Archive.Hashes["sha256"]},
			}},
			Tool: aboutTool{About{licence(p.Metadata.Expression, p.Metadata.Licence, p.Metadata.Classifier), p.Yanked}},
		}
		if u.Scheme != "file" && w.Index != NoIndex {
			entry.Index = w.Index
		}
		for _, need := range p.Metadata.Needs {
			if name := Named(need); name != "" {
				entry.Needs = append(entry.Needs, dependency{name})
			}
		}
		slices.SortFunc(entry.Needs, func(a, b dependency) int { return strings.Compare(a.Name, b.Name) })
		entry.Needs = slices.Compact(entry.Needs)
		if err := entry.check(); err != nil {
			return nil, err
		}
		l.Packages = append(l.Packages, entry)
	}
	slices.SortFunc(l.Packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	for i := range l.Packages { // what was not taken, for an extra or another system, is no need
		l.Packages[i].Needs = slices.DeleteFunc(l.Packages[i].Needs, func(d dependency) bool {
			_, there := l.Find(d.Name)
			return !there
		})
	}
	return l, nil
}

// licence is a short word for what metadata says: an SPDX expression, or the last part of a classifier.
func licence(expression, text string, classifiers []string) string {
	const begin = "License :: "
	if expression == "" {
		for _, c := range classifiers {
			if strings.HasPrefix(c, begin) {
				expression = c[strings.LastIndex(c, ":: ")+3:]
			}
		}
	}
	if line, _, more := strings.Cut(text, "\n"); expression == "" && !more {
		expression = line
	}
	if letters := []rune(expression); len(letters) > 60 {
		expression = string(letters[:59]) + "…"
	}
	return expression
}
