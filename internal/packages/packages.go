// Package packages is what a tenant's code can import beside the standard library: the lock that says which wheels
// those are (pylock.toml, PEP 751), the wheels by their hashes, and the layers that are made of them.
//
// It never runs what is in a wheel, and leaves the choice of versions to pip, which runs in a sandbox as a server
// would; who is asked before something is fetched is the caller's affair. It holds nothing to be closed: locks and
// temporary files are gone when a function returns, and what a killed process leaves, the next change sweeps.
package packages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"codemode/internal/atomicfile"
	"codemode/internal/filelock"
	"codemode/internal/hint"
	"codemode/internal/plainfile"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"

	"github.com/gofrs/flock"
)

// Store is a tenant's packages.
type Store struct {
	State    string            // the folder of its locks
	Cache    string            // of wheels and layers, which can be made again
	Source   python.Source     // the interpreter that packages are for
	Programs *sandbox.Programs // runs pip, and the compiler
	Env      []string          // what of the user's environment pip needs: proxies, certificates
	Client   *http.Client      // fetches wheels
	Progress func(text string) // told what takes time
}

const (
	lockName  = "pylock.toml"
	withDir   = "with" // locks of single programs (exec --with), by a hash of their requirements, and of projects
	guardName = ".lock"
	tempName  = ".tmp-"

	pollLock = 50 * time.Millisecond

	unusedLayer = 7 * 24 * time.Hour // a session of another codemode may be running with it
	unusedWheel = 30 * 24 * time.Hour
)

// ErrChanged is a lock that another process has changed since it was read: what was decided is to be decided again.
var ErrChanged = errors.New("another codemode has changed the packages meanwhile")

// Lock is the tenant's lock; one without packages where nothing was added.
func (s *Store) Lock() (*Lock, error) { return s.readLock(filepath.Join(s.State, lockName)) }

// WithLock is the lock of what a program needs, if it was made once.
func (s *Store) WithLock(w Wish) (*Lock, error) { return s.readUsed(s.withFile(w)) }

// readUsed reads a lock that is kept as long as it is used.
func (s *Store) readUsed(file string) (*Lock, error) {
	lock, err := s.readLock(file)
	if err == nil && len(lock.Packages) > 0 {
		now := time.Now()
		_ = os.Chtimes(file, now, now) // it is in use; where that cannot be kept, it is made again one day
	}
	return lock, err
}

func (s *Store) readLock(file string) (*Lock, error) {
	data, err := plainfile.Read(file, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the lock of packages %q: %w", file, err)
	}
	lock, err := ParseLock(data)
	if err != nil {
		return nil, hint.New(
			fmt.Sprintf("reading the lock of packages %q: %v; nothing was changed", file, err),
			"it is to be mended, or removed and made again by codemode packages add",
		)
	}
	return lock, nil
}

// Install fetches what a lock names, makes its layer, and puts it in the place of old, the tenant's lock as it was
// read. Until the last step, a rename, everything is as it was.
func (s *Store) Install(ctx context.Context, lock, old *Lock) error {
	return s.install(ctx, lock, filepath.Join(s.State, lockName), old)
}

// InstallWith is Install for what a program needs, which changes nothing of the tenant's.
func (s *Store) InstallWith(ctx context.Context, lock *Lock, w Wish) error {
	return s.install(ctx, lock, s.withFile(w), nil)
}

func (s *Store) install(ctx context.Context, lock *Lock, file string, old *Lock) error {
	for _, dir := range []string{filepath.Dir(file), s.layers(), s.wheels()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making a folder for packages: %w", err)
		}
	}
	guard, err := s.guard(ctx)
	if err != nil {
		return err
	}
	defer guard.Close()
	s.sweep()
	if err := s.unchanged(old); err != nil {
		return err
	}
	if len(lock.Packages) > 0 {
		if err := s.fetch(ctx, lock); err != nil {
			return err
		}
		if err := s.makeLayer(ctx, lock); err != nil {
			return err
		}
	}
	return s.replace(ctx, file, lock, old)
}

// guard waits for another process that makes a layer for this tenant, until ctx ends: that may take minutes.
func (s *Store) guard(ctx context.Context) (*flock.Flock, error) {
	guard := flock.New(filepath.Join(s.Cache, guardName), flock.SetPermissions(0o600))
	got, err := guard.TryLock()
	if err == nil && !got {
		s.progress("waiting for another codemode that adds packages")
		_, err = guard.TryLockContext(ctx, pollLock)
	}
	if err != nil {
		guard.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("waiting for the lock of %q: %w", s.Cache, err)
	}
	return guard, nil
}

// unchanged tells whether the tenant's lock is still old; nil asks for nothing.
func (s *Store) unchanged(old *Lock) error {
	if old == nil {
		return nil
	}
	now, err := s.Lock()
	if err == nil && !bytes.Equal(now.encode(), old.encode()) {
		err = ErrChanged
	}
	return err
}

// replace writes a lock. It compares with old once more, under a lock in State: the guard is in Cache, and a codemode
// with another cache does not hold it.
func (s *Store) replace(ctx context.Context, file string, lock, old *Lock) error {
	held, err := filelock.Take(ctx, filepath.Join(s.State, guardName))
	if err != nil {
		return err
	}
	defer held.Close()
	if err := s.unchanged(old); err != nil {
		return err
	}
	if len(lock.Packages) == 0 {
		err = os.Remove(file)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		err = atomicfile.Write(file, tempName, lock.encode())
	}
	if err != nil {
		return fmt.Errorf("writing the lock of packages: %w", err)
	}
	s.prune()
	return nil
}

// sweep removes what killed processes have left. The guard is held, so none of it is at work. What cannot be removed
// costs room alone.
func (s *Store) sweep() {
	with := filepath.Join(s.State, withDir)
	for _, dir := range []string{s.Cache, s.wheels(), s.layers(), s.State, with, s.installed()} {
		left, _ := filepath.Glob(filepath.Join(dir, tempName+"*")) // the pattern is sound
		for _, path := range left {
			// What such a process had compile is being ended, and may write in it meanwhile.
			for try := 0; os.RemoveAll(path) != nil && try < 50; try++ {
				<-time.After(10 * time.Millisecond)
			}
		}
	}
}

// prune removes layers, wheels and programs' locks that nobody has used for long. What a lock names is kept.
func (s *Store) prune() {
	used := map[string]bool{}
	if abi, err := s.Source.ABI(context.Background()); err == nil {
		for _, file := range append(s.withFiles(), filepath.Join(s.State, lockName)) {
			info, err := os.Stat(file)
			if err != nil {
				continue
			}
			if filepath.Base(file) != lockName && time.Since(info.ModTime()) > unusedWheel {
				_ = os.Remove(file)
				continue
			}
			lock, err := s.readLock(file)
			if err != nil {
				return // what it needs is not known, so nothing is removed
			}
			used[lock.layerName(abi)] = true
			for _, p := range lock.Packages {
				used[p.wheelName()], used[p.Wheel().Hashes["sha256"]] = true, true
			}
		}
	}
	for dir, age := range map[string]time.Duration{
		s.layers(): unusedLayer, s.wheels(): unusedWheel, s.installed(): unusedLayer,
	} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && !used[e.Name()] && time.Since(info.ModTime()) > age {
				_ = os.RemoveAll(filepath.Join(dir, e.Name()))
			}
		}
	}
}

// Layers is the folder in which layers appear, for sandboxes that are to see those; empty where it cannot be made.
func (s *Store) Layers() string {
	if python.Carries() == "" || os.MkdirAll(s.layers(), 0o755) != nil {
		return ""
	}
	return s.layers()
}

func (s *Store) layers() string { return filepath.Join(s.Cache, "layers") }
func (s *Store) wheels() string { return filepath.Join(s.Cache, "wheels") }

// installed is where wheels lie that were made of what is installed elsewhere, by their hashes. No index has them.
func (s *Store) installed() string { return filepath.Join(s.State, "installed") }

func (s *Store) withFile(w Wish) string { return filepath.Join(s.State, withDir, w.key()+".toml") }

func (s *Store) withFiles() []string {
	files, _ := filepath.Glob(filepath.Join(s.State, withDir, "*.toml"))
	return files
}

func (s *Store) progress(text string) {
	if s.Progress != nil {
		s.Progress(text)
	}
}
