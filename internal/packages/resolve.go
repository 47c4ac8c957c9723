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
	"strconv"
	"strings"
	"time"

	"codemode/internal/fileerr"
	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
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
	r := &resolution{store: s, py: py, lib: lib, wish: w, cutoff: time.Now().Add(-w.Cooldown)}
	r.lines = slices.Clone(w.Requirements)
	if keep != nil {
		for _, p := range keep.Packages {
			if !slices.ContainsFunc(change, func(c string) bool { return Normal(c) == Normal(p.Name) }) {
				r.constraints = append(r.constraints, p.Name+"=="+p.Version)
			}
		}
	}
	s.progress("asking " + w.Source() + " what " + strings.Join(w.Requirements, ", ") + " comes to")
	if err := r.freePins(ctx); err != nil {
		return nil, err
	}
	found, err := r.pip(ctx, r.lines, r.constraints, w.Cooldown > 0)
	if err != nil {
		return nil, err
	}
	lock, err := found.lock(w, py)
	if err != nil {
		return nil, err
	}
	s.describe(ctx, lock, w.Index)
	return lock, nil
}

// checkFolders refuses what is no folder that could hold wheels.
func (w Wish) checkFolders() error {
	for _, dir := range w.FindLinks {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			err = errors.New("it is a file")
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
	cutoff      time.Time
	lines       []string // requirements, as pip reads them
	addresses   []string // that they may name
	constraints []string
}

// freePins has versions taken that were asked for by number though they are younger than the cooldown, of which pip
// knows no exception: they are looked for alone first, and then named by their addresses.
func (r *resolution) freePins(ctx context.Context) error {
	var young []string
	extras := map[string]string{}
	for i, line := range r.lines {
		version, pinned := pin(line)
		if pinned && r.wish.Cooldown > 0 && r.store.isYoung(ctx, r.wish, line, version, r.cutoff) {
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

// plainAddress is an address as it may stand in a file for pip, which ends lines at many characters, and replaces
// ${NAME} by variables.
var plainAddress = lazyregexp.New(`^(https?|file)://[A-Za-z0-9._~:/?&=%+,!\[\]-]+$`)

// pin is the one version that a requirement allows.
func pin(requirement string) (version string, ok bool) {
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
	cache := filepath.Join(s.Cache, "pip")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, fmt.Errorf("making a folder for pip: %w", err)
	}
	result := filepath.Join(scratch, "report.json")
	args := []string{
		runPip, r.lib, filepath.Join(scratch, "addresses"),
		"install", "--isolated", "--no-input", "--disable-pip-version-check", "--no-color", "--progress-bar", "off",
		"--retries", "2", "--timeout", "15", "--cache-dir", cache,
		"--dry-run", "--ignore-installed", "--only-binary", ":all:", "--report", result,
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
	if len(constraints) > 0 && constraints[0] == "--no-deps" {
		args, constraints = append(args, "--no-deps"), nil
	}
	files := map[string][]string{"requirements.txt": lines, "constraints.txt": constraints, "addresses": r.addresses}
	for name, list := range files {
		if err := os.WriteFile(filepath.Join(scratch, name), []byte(strings.Join(list, "\n")+"\n"), 0o644); err != nil {
			return nil, fmt.Errorf("writing for pip: %w", err)
		}
	}
	args = append(args, "-r", filepath.Join(scratch, "requirements.txt"))
	args = append(args, "-c", filepath.Join(scratch, "constraints.txt"))
	may := sandbox.Restrictions{
		Read: append([]string{r.lib}, r.wish.FindLinks...), Write: []string{scratch, cache},
		Network: r.wish.Index != NoIndex,
	}
	var said []string
	err = s.run(ctx, r.py, may, args, func(line string) {
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
		return nil, r.explain(ctx, said, failed)
	}
	if err != nil {
		return nil, fmt.Errorf("running pip: %w", err)
	}
	return readReport(result)
}

// maxSaid is how many lines of pip's are kept for an explanation.
const maxSaid = 10_000

func readReport(file string) (*report, error) {
	info, err := os.Lstat(file)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxReport) {
		err = errors.New("it is no file of a size that could be one")
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(file)
	}
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

// explain makes an error of what pip said, shortened: the reason, and what of an index would help.
func (r *resolution) explain(ctx context.Context, said []string, failed *programError) error {
	reasons := reasons(said, failed.stderr)
	if len(reasons) == 0 {
		return fmt.Errorf("pip failed, and nothing was added: %w", failed)
	}
	if len(reasons) == 1 && reasons[0] == "Exception:" { // a traceback, whose last line says what it was
		reasons[0] = "pip failed: " + strings.TrimPrefix(python.LastLine(failed.stderr), ": ")
	}
	text := requirementLine().ReplaceAllStringFunc(strings.Join(reasons, "; "), func(place string) string {
		n, err := strconv.Atoi(requirementLine().FindStringSubmatch(place)[1])
		if err != nil || n < 1 || n > len(r.lines) {
			return place
		}
		return r.lines[n-1]
	})
	err := hint.New(text+"; nothing was added", r.advice(text)...)
	if about := r.store.lacking(ctx, r.wish, text, r.py, r.cutoff); about != nil {
		return about
	}
	return err
}

// requirementLine is how pip names what it was asked for: by a file that nobody else has seen.
var requirementLine = lazyregexp.New(`-r \S+requirements\.txt \(line (\d+)\)`)

// maxReasons is how many lines of a reason are told.
const maxReasons = 8

// reasons are pip's own, without what it says for its other users.
func reasons(said []string, stderr string) (list []string) {
	conflict := false
	for _, line := range said {
		switch {
		case strings.HasPrefix(line, "The conflict is caused by:"):
			conflict = true
		case conflict && strings.HasPrefix(line, "    "):
			list = append(list, strings.TrimSpace(line))
		case conflict && line == "":
			conflict = false
		}
	}
	var errs []string
	for line := range strings.Lines(stderr) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "ERROR: "); ok &&
			!strings.HasPrefix(text, "ResolutionImpossible") && !strings.HasPrefix(text, "No matching distribution") {
			errs = append(errs, text)
		}
	}
	list = append(errs, list...)
	return list[:min(len(list), maxReasons)]
}

// advice is what to do about a reason.
func (r *resolution) advice(text string) []string {
	switch {
	case strings.Contains(text, "does not provide upload-time"):
		return []string{
			"packages.cooldown needs to know when a version appeared; to do without: CODEMODE_PACKAGES_COOLDOWN=0",
		}
	case strings.Contains(text, "conflicting dependencies") && len(r.constraints) > 0:
		return []string{"to let all versions change: codemode packages update"}
	}
	return nil
}
