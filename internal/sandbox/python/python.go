// Package python prepares the interpreter of guests: the one this binary carries, or one the user named.
//
// It owns the cache's folders of unpacked, inspected and byte-compiled files, which other processes may use at the same
// time, and trusts nothing in them that others could have written. It never starts a guest: what it runs is the
// interpreter itself, on files of codemode's own. Nothing needs closing.
package python

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/plainfile"
)

// GuestDir is where every sandbox shows the guest's own files, which no interpreter may cover.
const GuestDir = "/codemode"

// A Bind is a host file or directory and the path at which the guest sees it, read-only.
type Bind struct {
	Host, Inside string
	Hidden       bool // the guest should not learn where Host is, which is in the user's home
}

// Interpreter is an interpreter that is ready to be used by a guest. It is a value to read: it holds no
// process, lock or descriptor, and need not be closed.
type Interpreter struct {
	Exe          string   // the interpreter, as the guest sees it
	Version      string   // "3.14.6"
	Tag          string   // what its bytecode files are called by: "cpython-314"
	Binds        []Bind   // everything of it that the guest must see
	SitePackages []string // as the guest sees them, in the order sys.path should have them
	Layers       string   // as the guest sees it, a folder in which more of those appear; empty is none
	Embedded     bool     // it is the one this binary carries
	Env          []string // what it needs in the guest's environment

	id      string // of one that is not the embedded one
	confine Confine
}

// Own is the name of something that the interpreter writes, and that nobody else may use: all but the embedded one may
// be a stranger's.
func (py *Interpreter) Own(name string) string {
	if py.id == "" {
		return name
	}
	return name + "-" + py.id
}

// PackagesDir is where every sandbox shows the packages that its tenant has added.
const PackagesDir = "/opt/codemode/packages"

// LayersDir is where a sandbox shows the folders of packages that may be made while it runs.
const LayersDir = "/opt/codemode/layers"

// With is the interpreter with a folder of packages beside its own, and before those: the user chose them.
func (py *Interpreter) With(dir string) *Interpreter {
	with := py.shows(dir, PackagesDir)
	with.SitePackages = append([]string{PackagesDir}, py.SitePackages...)
	return with
}

// WithLayers is the interpreter with a folder in which those of packages appear.
func (py *Interpreter) WithLayers(dir string) *Interpreter {
	with := py.shows(dir, LayersDir)
	with.Layers = LayersDir
	return with
}

func (py *Interpreter) shows(host, inside string) *Interpreter {
	with := *py
	with.Binds = append(slices.Clip(py.Binds), Bind{Host: host, Inside: inside, Hidden: true})
	return &with
}

// Source says which interpreter guests use and where files about it are kept.
type Source struct {
	// CacheDir is codemode's cache directory; the source keeps to its "python" directory.
	CacheDir string

	// Interpreter is another interpreter than the embedded one: a path to a python3, a virtual
	// environment, or a bare name. Empty means the embedded one.
	Interpreter string

	// LookPath finds a bare name; nil means that bare names are refused.
	LookPath func(name string) (string, error)

	// Confine starts an interpreter that is not the embedded one, and may be any program: it is asked what it is, and
	// compiles. nil starts it as it is.
	Confine Confine

	// Progress is told how far unpacking is; nil is fine. Calls do not overlap.
	Progress func(done, total int, what string)
}

// Prepare returns the interpreter, which the first call on a machine has to prepare: the embedded one
// is unpacked, another one is run once to ask what it is. Later calls, in whichever process, cost
// microseconds, so call it for every start rather than keeping the answer: a cache that was emptied
// meanwhile is filled again.
func (s Source) Prepare(ctx context.Context) (*Interpreter, error) {
	if s.Interpreter != "" {
		return s.interpreter(ctx)
	}
	return s.embedded(ctx)
}

const maxMarker = 4 << 10 // bytes

// Verify reads the embedded distribution and says whether files of it were lost or changed since it
// was unpacked. [Source.Repair] unpacks it again.
func (py *Interpreter) Verify() error {
	if !py.Embedded {
		return nil
	}
	dir := py.HostPath(embeddedDir)
	want, err := plainfile.Read(filepath.Join(dir, markerName), maxMarker)
	if err != nil {
		return fmt.Errorf("checking python in %q: %w", dir, err)
	}
	got, err := listing(dir)
	if err != nil {
		return fmt.Errorf("checking python in %q: %w", dir, err)
	}
	if got != string(want) {
		return fmt.Errorf("python in %q is not as it was unpacked", dir)
	}
	return nil
}

// Try runs the interpreter; what it computes is a constant.
func (py *Interpreter) Try(ctx context.Context) error {
	out, err := py.program().answer(ctx, "print(6 * 7)", nil)
	if err == nil && strings.TrimSpace(string(out)) != "42" {
		err = fmt.Errorf("running %q: it takes 6 * 7 for %.40q", py.HostPath(py.Exe), out)
	}
	return err
}

func (py *Interpreter) program() program { return program{py.HostPath(py.Exe), py.confine} }

// HostPath is where the host has what the guest sees at inside.
func (py *Interpreter) HostPath(inside string) string {
	for _, b := range py.Binds {
		if rest, ok := cutDir(inside, b.Inside); ok {
			return filepath.Join(b.Host, rest)
		}
	}
	return inside
}

// cutDir returns what follows dir in path, and whether path is dir or lies below it.
func cutDir(path, dir string) (rest string, ok bool) {
	if path == dir || dir == "/" {
		return strings.TrimPrefix(path, dir), true
	}
	return strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func (s Source) progress(done, total int, what string) {
	if s.Progress != nil {
		s.Progress(done, total, what)
	}
}
