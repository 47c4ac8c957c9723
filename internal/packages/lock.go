package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"codemode/internal/lazyregexp"

	"github.com/pelletier/go-toml/v2"
)

// A Lock is a pylock.toml, https://packaging.python.org/en/latest/specifications/pylock-toml/ (1.0, 2025-04): which
// wheels there are, and under [tool.codemode] what was asked for and where.
type Lock struct {
	Version        string    `toml:"lock-version"`
	CreatedBy      string    `toml:"created-by"`
	RequiresPython string    `toml:"requires-python,omitempty"`
	Packages       []Package `toml:"packages"`
	Tool           tool      `toml:"tool"`

	Notes []string `toml:"-"` // of how it was made, for people
}

type tool struct {
	Codemode Wish `toml:"codemode"`
}

// A Package is one of a lock.
type Package struct {
	Name    string       `toml:"name" json:"name"`
	Version string       `toml:"version" json:"version"`
	Index   string       `toml:"index,omitempty" json:"index,omitempty"`
	Needs   []dependency `toml:"dependencies,omitempty" json:"-"`
	Wheels  []Wheel      `toml:"wheels" json:"wheels"`
	Tool    aboutTool    `toml:"tool,omitempty" json:"-"`
}

type dependency struct {
	Name string `toml:"name"`
}

type aboutTool struct {
	Codemode About `toml:"codemode,omitempty"`
}

// About is what is shown of a package before it is added, and nowhere held to be true.
type About struct {
	Licence string `toml:"licence,omitempty"`
	Yanked  bool   `toml:"yanked,omitempty"`
}

// A Wheel is a file, by its hash.
type Wheel struct {
	Name   string            `toml:"name" json:"name"`
	URL    string            `toml:"url" json:"url"`
	Size   int64             `toml:"size,omitempty" json:"size,omitempty"`
	Upload time.Time         `toml:"upload-time,omitempty" json:"upload-time,omitzero"`
	Hashes map[string]string `toml:"hashes" json:"hashes"`
}

// A Wish is what was asked for.
type Wish struct {
	Requirements []string      `toml:"requirements"`         // PEP 508, without URLs
	Index        string        `toml:"index,omitempty"`      // of PEP 503, or NoIndex
	FindLinks    []string      `toml:"find-links,omitempty"` // folders with wheels
	From         []From        `toml:"from,omitempty"`       // where some of them are installed
	Project      string        `toml:"-"`                    // of a project that has its own, and is named by it
	Cooldown     time.Duration `toml:"-"`                    // a version younger than that is not taken
	Sums         Sums          `toml:"-"`
}

// NoIndex stands for no index at all.
const NoIndex = "none"

// public is an index's address without its user and password, which no lock has and nobody is shown.
func public(index string) string {
	u, err := url.Parse(index)
	if err != nil || u.User == nil {
		return index
	}
	u.User = nil
	return u.String()
}

// HasPassword tells whether pip is told one, for the index.
func (w Wish) HasPassword() bool {
	u, err := url.Parse(w.Index)
	return err == nil && u.User != nil
}

// SameIndex tells whether two addresses are of one index, whoever asks it.
func SameIndex(a, b string) bool { return public(a) == public(b) }

// key names what a program needs, however that is ordered, and whatever else is there.
func (w Wish) key() string {
	all := slices.Clone(w.Requirements)
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(append(all, w.Project), "\n")))
	return hex.EncodeToString(sum[:16])
}

// maxLock bounds a lock that is read.
const maxLock = 16 << 20

var (
	sha256Text = lazyregexp.New(`^[0-9a-f]{64}$`)
	wheelText  = lazyregexp.New(`^[A-Za-z0-9_.+!-]{1,251}\.whl$`)
	nameText   = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	separators = lazyregexp.New(`[-_.]+`)
)

// ParseLock reads a lock, and refuses one that names anything but wheels by their hashes.
func ParseLock(data []byte) (*Lock, error) {
	if len(data) > maxLock {
		return nil, fmt.Errorf("it has %d bytes, and %d are enough for every lock", len(data), maxLock)
	}
	var lock Lock
	if err := toml.Unmarshal(data, &lock); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(lock.Version, "1.") {
		return nil, fmt.Errorf("its lock-version is %q, and this codemode knows 1.x", lock.Version)
	}
	seen := map[string]bool{}
	for _, p := range lock.Packages {
		if err := p.check(); err != nil {
			return nil, err
		}
		if seen[Normal(p.Name)] {
			return nil, fmt.Errorf("package %q is there twice", p.Name)
		}
		seen[Normal(p.Name)] = true
	}
	return &lock, nil
}

func (p Package) check() error {
	if !nameText().MatchString(p.Name) {
		return fmt.Errorf("%.80q is no name of a package", p.Name)
	}
	if len(p.Wheels) != 1 {
		return fmt.Errorf("package %q has %d wheels, and one is to be installed", p.Name, len(p.Wheels))
	}
	if i, err := url.Parse(p.Index); err != nil || i.User != nil {
		return fmt.Errorf("package %q: the address of its index has a password in it, or is none", p.Name)
	}
	w := p.Wheels[0]
	u, err := url.Parse(w.URL)
	switch {
	case !wheelText().MatchString(w.Name):
		return fmt.Errorf("package %q: %.80q is no name of a wheel", p.Name, w.Name)
	case !sha256Text().MatchString(w.Hashes["sha256"]):
		return fmt.Errorf("package %q: the index gives no SHA-256 of its wheel, so what comes could not be checked", p.Name)
	case err != nil || !slices.Contains([]string{"http", "https", "file"}, u.Scheme):
		return fmt.Errorf("package %q: its wheel has no address that can be fetched", p.Name)
	case !plainAddress().MatchString(w.URL) && u.Scheme != "file":
		return fmt.Errorf("package %q: the address of its wheel has characters that no address has", p.Name)
	case u.User != nil:
		return fmt.Errorf("package %q: the address of its wheel has a password in it", p.Name)
	case !strings.HasPrefix(Normal(w.Name), Normal(p.Name)+"-"):
		return fmt.Errorf("package %q: the wheel %q is of another", p.Name, w.Name)
	}
	return nil
}

// Wheel is the package's only one.
func (p Package) Wheel() Wheel { return p.Wheels[0] }

// Licence is what its metadata says.
func (p Package) Licence() string { return p.Tool.Codemode.Licence }

// Yanked tells whether its author has withdrawn it.
func (p Package) Yanked() bool { return p.Tool.Codemode.Yanked }

func (p Package) wheelName() string { return p.Wheel().Hashes["sha256"] + ".whl" }

// Normal is a package's name as it is compared, PEP 503.
func Normal(name string) string { return separators().ReplaceAllString(strings.ToLower(name), "-") }

// Asked is what was asked for.
func (l *Lock) Asked() Wish { return l.Tool.Codemode }

// Find is the package of that name.
func (l *Lock) Find(name string) (Package, bool) {
	i := slices.IndexFunc(l.Packages, func(p Package) bool { return Normal(p.Name) == Normal(name) })
	if i < 0 {
		return Package{}, false
	}
	return l.Packages[i], true
}

// FromWithout is From without the given names, and without folders of which no name is left.
func (w Wish) FromWithout(names []string) (list []From) {
	for _, from := range w.From {
		from.Names = slices.DeleteFunc(slices.Clone(from.Names), func(has string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return Normal(n) == has })
		})
		if len(from.Names) > 0 {
			list = append(list, from)
		}
	}
	return list
}

// TakesFrom tells whether one of the lock's wheels is from a folder.
func (l *Lock) TakesFrom(dir string) bool {
	return slices.ContainsFunc(l.Packages, func(p Package) bool {
		file, ok := fileOf(p.Wheel().URL)
		return ok && filepath.Dir(file) == filepath.Clean(dir)
	})
}

// ABI is that of the Python for which the versions were chosen; empty where the lock does not say it.
func (l *Lock) ABI() string {
	version, exact := strings.CutPrefix(l.RequiresPython, "==")
	version, minor := strings.CutSuffix(version, ".*")
	if !exact || !minor {
		return ""
	}
	return "cpython-" + strings.ReplaceAll(version, ".", "")
}

// Wants tells whether a package was asked for, rather than needed by another.
func (l *Lock) Wants(name string) bool {
	return slices.ContainsFunc(l.Asked().Requirements, func(r string) bool { return Named(r) == Normal(name) })
}

// Satisfies tells whether a lock has what is required, as far as names and numbers tell. What has a marker, an extra or
// another form of a version needs Store.Has.
func (l *Lock) Satisfies(requirements []string) bool {
	for _, r := range requirements {
		if yes, _ := l.answers(r); !yes {
			return false
		}
	}
	return true
}

// numbersText is a version that is compared by its numbers alone.
var numbersText = lazyregexp.New(`^[0-9]+(\.[0-9]+)*$`)

// answers tells whether a lock has what one requirement asks for, and whether that is known for certain.
func (l *Lock) answers(r string) (yes, known bool) {
	m := requirementText().FindStringSubmatch(r)
	if m == nil {
		return false, false
	}
	p, there := l.Find(m[1])
	extras, clauses := m[2], m[3]
	switch {
	case there && slices.Contains(l.Asked().Requirements, r):
		return true, true
	case strings.Contains(clauses, ";"):
		return false, false
	case !there:
		return false, true
	case extras != "" || strings.Contains(clauses, "===") || !numbersText().MatchString(p.Version):
		return clauses == "" && extras == "", clauses == "" && extras == ""
	}
	return fitsClauses(clauses, p.Version)
}

// Joined is a lock with what another has beside it; false where they have different wheels of a package. Of two locks
// that are whole and agree, that is whole, too.
func (l *Lock) Joined(other *Lock) (*Lock, bool) {
	next := *l
	next.Packages = slices.Clone(l.Packages)
	for _, p := range other.Packages {
		switch had, there := l.Find(p.Name); {
		case !there:
			next.Packages = append(next.Packages, p)
		case had.wheelName() != p.wheelName():
			return l, false
		}
	}
	slices.SortFunc(next.Packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	return &next, true
}

// layerForm changes with how a layer is made.
const layerForm = "1"

// layerName names what is made of a lock's wheels for an ABI.
func (l *Lock) layerName(abi string) string {
	parts := []string{layerForm, abi, runtime.GOARCH}
	for _, p := range l.Packages {
		parts = append(parts, p.Wheel().Hashes["sha256"])
	}
	slices.Sort(parts[3:])
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:])
}

// encode is the lock as a file.
func (l *Lock) encode() []byte {
	if l.Version == "" {
		return nil
	}
	data, err := toml.Marshal(l)
	if err != nil { // of strings, numbers and times
		panic(err)
	}
	return data
}

// Encode is the lock as a file for other tools.
func (l *Lock) Encode() []byte { return l.encode() }

// PinLines is the lock as pip's file of requirements, with hashes.
func (l *Lock) PinLines() string {
	var out strings.Builder
	for _, p := range l.Packages {
		fmt.Fprintf(&out, "%s==%s --hash=sha256:%s\n", p.Name, p.Version, p.Wheel().Hashes["sha256"])
	}
	return out.String()
}

// Without is the lock without some of what was asked for, and without what only those needed. It needs no index.
func (l *Lock) Without(names []string) (*Lock, error) {
	next := *l
	next.Tool.Codemode.Requirements = nil
	for _, r := range l.Asked().Requirements {
		if !slices.ContainsFunc(names, func(n string) bool { return Normal(n) == Named(r) }) {
			next.Tool.Codemode.Requirements = append(next.Tool.Codemode.Requirements, r)
		}
	}
	next.Tool.Codemode.From = l.Asked().FromWithout(names)
	keep := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		p, there := l.Find(name)
		if !there || keep[Normal(name)] {
			return
		}
		keep[Normal(name)] = true
		for _, d := range p.Needs {
			visit(d.Name)
		}
	}
	for _, r := range next.Tool.Codemode.Requirements {
		visit(Named(r))
	}
	next.Packages = slices.DeleteFunc(slices.Clone(l.Packages), func(p Package) bool { return !keep[Normal(p.Name)] })
	for _, name := range names {
		switch _, there := l.Find(name); {
		case !there:
			return nil, &NotThereError{Name: name}
		case keep[Normal(name)]:
			return nil, &NotThereError{Name: name, Needed: next.needing(name)}
		}
	}
	return &next, nil
}

// needing are the packages that need one.
func (l *Lock) needing(name string) (names []string) {
	for _, p := range l.Packages {
		if slices.ContainsFunc(p.Needs, func(d dependency) bool { return Normal(d.Name) == Normal(name) }) {
			names = append(names, p.Name)
		}
	}
	return names
}

// NotThereError is a package that cannot be removed.
type NotThereError struct {
	Name   string
	Needed []string // by these
}

func (e *NotThereError) Error() string {
	if len(e.Needed) > 0 {
		return fmt.Sprintf("package %q is there because %s needs it", e.Name, strings.Join(e.Needed, ", "))
	}
	return fmt.Sprintf("package %q was not added", e.Name)
}

var requirementText = lazyregexp.New(
	`^\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(\[[A-Za-z0-9._, -]*\])?\s*([<>=!~(;].*)?$`,
)

// Named is the name that a requirement begins with, as it is compared.
func Named(requirement string) string {
	if m := requirementText().FindStringSubmatch(requirement); m != nil {
		return Normal(m[1])
	}
	return ""
}

// errURL is a requirement by its address.
var errURL = errors.New("it names a file or an address, and packages are added by name from an index, or --find-links")

// CheckRequirement refuses what is not a name with versions: an option of pip's, a path, an address.
func CheckRequirement(r string) error {
	switch {
	case strings.Contains(r, "://") || strings.Contains(r, "@") || path.Ext(r) == ".whl":
		return errURL
	case strings.ContainsFunc(r, func(c rune) bool { return c < ' ' || c == '\\' }) || len(r) > 500 || Named(r) == "":
		return errors.New("it is no name of a package, with versions behind it or without")
	}
	return nil
}

var askedText = lazyregexp.New(
	`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._,-]+\])?((==|>=|<=|~=|!=|<|>)[A-Za-z0-9.*+!]+,?)*$`,
)

// CheckAsked refuses of what code asks for all but a name with versions, in letters that show as what they are.
func CheckAsked(r string) error {
	if !askedText().MatchString(r) || CheckRequirement(r) != nil {
		return errors.New("it is no name of a package, with versions behind it or without, as in polars>=1")
	}
	return nil
}

// ParseRequirements reads a file of requirements, as pip has it, as far as that names packages, and their hashes.
func ParseRequirements(text string) (list []string, sums map[string][]string, err error) {
	sums = map[string][]string{}
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", " ")
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(" "+strings.TrimSpace(line), " #")
		line, hashes, hashed := strings.Cut(line, " --hash")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if strings.HasPrefix(line, "-") {
			return nil, nil, fmt.Errorf("line %d is an option (%.40q), and names of packages are taken alone", n, line)
		}
		list = append(list, line)
		if !hashed {
			continue
		}
		for hash := range strings.SplitSeq(hashes, " --hash") {
			hash = strings.TrimLeft(hash, "= ")
			sum, ok := strings.CutPrefix(strings.TrimSpace(hash), "sha256:")
			if !ok || !sha256Text().MatchString(sum) {
				return nil, nil, fmt.Errorf("line %d has a hash that is no SHA-256 (%.40q)", n, hash)
			}
			sums[Named(line)] = append(sums[Named(line)], sum)
		}
	}
	return list, sums, nil
}
