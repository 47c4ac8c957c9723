package python

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/fileerr"
)

// movedDir is where guests see what the host has in a directory that every sandbox covers with its own.
const movedDir = "/opt/codemode/host"

// coveredDirs are the directories that every sandbox has of its own.
var coveredDirs = []string{"/tmp", "/workspace", "/dev", "/proc", "/run", GuestDir, "/opt/codemode"}

// store is bound whole as soon as an interpreter has files in it: packages and their libraries are spread over it, and
// nothing in it is private to a user.
const store = "/nix/store"

// systemPrefixes are those whose share has data of packages, and nothing of a user's: ~/.local/share has keyrings.
var systemPrefixes = []string{"/usr", "/usr/local"}

// systemTrees are where any interpreter may have libraries and packages.
var systemTrees = []string{
	"/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share",
	"/usr/local/lib", "/usr/local/lib64", "/usr/local/share", store,
}

// interpreter returns the interpreter the user named.
func (s Source) interpreter(ctx context.Context) (*Interpreter, error) {
	exe, err := s.findInterpreter()
	if err != nil {
		return nil, fmt.Errorf("python %q: %w", s.Interpreter, err)
	}
	about, err := s.inspect(ctx, exe)
	if err != nil {
		return nil, fmt.Errorf("python %q: %w", s.Interpreter, err)
	}
	py := about.python()
	py.confine = s.Confine
	if py.id, err = identity(exe); err != nil {
		return nil, fmt.Errorf("python %q: %w", s.Interpreter, err)
	}
	if err := checkPlaces(exe, about, py); err != nil {
		return nil, fmt.Errorf("python %q: %w", s.Interpreter, err)
	}
	return py, nil
}

// findInterpreter returns the program that s.Interpreter means. It keeps symbolic links: it is by its
// path that the interpreter of a virtual environment knows where it belongs.
func (s Source) findInterpreter() (string, error) {
	path := s.Interpreter
	if !strings.ContainsRune(path, filepath.Separator) {
		if s.LookPath == nil {
			return "", errors.New("a bare name cannot be looked up here; give a path")
		}
		found, err := s.LookPath(path)
		if err != nil {
			return "", err
		}
		path = found
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fileerr.Cause(err)
	}
	if info.IsDir() {
		dir := path
		path = filepath.Join(dir, "bin", "python3")
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("the directory %q is no virtual environment: %w", dir, fileerr.Cause(err))
		}
	}
	return path, checkProgram(path)
}

// checkProgram refuses what is no program for this kernel, such as the scripts that version managers
// put in the place of an interpreter. They would need their shell, and their state, in the sandbox.
func checkProgram(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a FIFO would be waited for
		return fmt.Errorf("%q is no regular file; name a python3 or a virtual environment", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	magic := make([]byte, len(elf.ELFMAG))
	io.ReadFull(f, magic) // of a file that is too short, what is there is compared
	switch {
	case string(magic) == elf.ELFMAG:
		return nil
	case strings.HasPrefix(string(magic), "#!"):
		return fmt.Errorf("%q is a script that chooses an interpreter; name the interpreter itself, "+
			"the path that running it with -c 'import sys; print(sys.executable)' prints", path)
	default:
		return fmt.Errorf("%q is not an ELF program; name a python3 or a virtual environment", path)
	}
}

// python says what a guest needs of the interpreter. All paths are real ones, so that no symbolic link
// has to exist inside too.
func (a inspection) python() *Interpreter {
	py := &Interpreter{
		Exe:     insidePath(realPath(a.Executable)),
		Version: a.Version,
		Tag:     a.Tag,
	}
	// Of a prefix only these: it may be a home directory, or ~/.local with its keyrings.
	dirs := []string{beside(realPath(a.Executable)), a.Stdlib}
	for _, prefix := range a.Prefixes {
		dirs = append(dirs, filepath.Join(prefix, "lib"), filepath.Join(prefix, "lib64"))
		if slices.Contains(systemPrefixes, prefix) {
			dirs = append(dirs, filepath.Join(prefix, "share"))
		}
	}
	for _, site := range a.SitePackages {
		site = realPath(site)
		if inside := insidePath(site); isDir(site) && !slices.Contains(py.SitePackages, inside) {
			py.SitePackages = append(py.SitePackages, inside)
			dirs = append(dirs, site)
		}
	}
	for _, dir := range collapse(dirs) {
		py.Binds = append(py.Binds, Bind{Host: dir, Inside: insidePath(dir)})
	}
	return py
}

// collapse returns the real paths of those files and folders that exist, without repetitions and without those that
// lie in another, sorted.
func collapse(paths []string) []string {
	var real []string
	for _, dir := range paths {
		dir = realPath(dir)
		if _, ok := cutDir(dir, store); ok {
			dir = store
		}
		if _, err := os.Stat(dir); err == nil {
			real = append(real, dir)
		}
	}
	slices.Sort(real) // a directory sorts before what it holds
	var kept []string
	for _, dir := range real {
		if !slices.ContainsFunc(kept, func(k string) bool { _, ok := cutDir(dir, k); return ok }) {
			kept = append(kept, dir)
		}
	}
	return kept
}

// insidePath is where the guest sees the host's path.
func insidePath(path string) string {
	for _, dir := range coveredDirs {
		if _, ok := cutDir(path, dir); ok {
			return movedDir + path
		}
	}
	return path
}

// realPath is path without symbolic links; path itself where it leads nowhere.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// explainStart makes sense of the error of starting exe. The kernel says "no such file" also when it is
// the program's loader that is missing (the embedded distribution, for one, needs glibc), and
// "permission denied" also on a file system where nothing may be run.
func explainStart(exe string, err error) error {
	err = fileerr.Cause(err)
	info, serr := os.Stat(exe)
	if serr != nil {
		return fmt.Errorf("running %q: %w", exe, err)
	}
	loader := elfLoader(exe)
	switch _, lerr := os.Stat(loader); {
	case errors.Is(err, fs.ErrNotExist) && loader != "" && lerr != nil:
		return fmt.Errorf("running %q: it needs the loader %q, which this system does not have: %w", exe, loader, err)
	case errors.Is(err, fs.ErrPermission) && info.Mode()&0o111 != 0:
		return fmt.Errorf("running %q: is its file system mounted noexec? %w", exe, err)
	}
	return fmt.Errorf("running %q: %w", exe, err)
}

// elfLoader is the loader that the program exe asks for, "" when it asks for none.
func elfLoader(exe string) string {
	f, err := elf.Open(exe)
	if err != nil {
		return ""
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name, _ := io.ReadAll(io.LimitReader(p.Open(), 4096)) // a short read names no file
			return strings.TrimRight(string(name), "\x00")
		}
	}
	return ""
}
