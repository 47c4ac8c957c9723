package python

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"codemode/internal/cachedir"

	"github.com/gofrs/flock"
)

const (
	// embeddedDir is where guests see the embedded distribution, so that the path of a user's cache
	// never shows in a traceback.
	embeddedDir = "/opt/codemode/python"

	// markerName is the file that says an unpacked distribution is whole. Its modification time is
	// when the distribution was last used, to within usedEvery.
	markerName = ".complete"

	// markerForm changes with what a marker holds.
	markerForm = "lines"

	// tempPrefix begins the names of directories that nobody may trust. They are made, renamed and
	// removed under the lock, whose holder knows that their makers are dead.
	tempPrefix = ".tmp-"

	usedEvery  = 24 * time.Hour
	keepUnused = 7 * 24 * time.Hour // another version of codemode may be running from it

	lockRetry = 50 * time.Millisecond
)

// embedded returns the embedded interpreter, unpacked in the cache.
func (s Source) embedded(ctx context.Context) (*Interpreter, error) {
	d := s.distribution()
	if err := d.ensure(ctx); err != nil {
		return nil, err
	}
	version := embeddedVersion()
	return &Interpreter{
		Exe:      embeddedExe(embeddedDir),
		Version:  version,
		Tag:      "cpython-" + majorMinor(version, ""),
		Binds:    []Bind{{Host: d.dir, Inside: embeddedDir, Hidden: true}},
		Embedded: true,
	}, nil
}

// Repair makes sure of the embedded distribution: one that is damaged is removed and unpacked again, which the
// first result tells. What codemodes that were killed have left half-unpacked goes, too.
func (s Source) Repair(ctx context.Context) (damage, err error) {
	py, err := s.embedded(ctx)
	if err != nil {
		return nil, err
	}
	d := s.distribution()
	if damage = py.Verify(); damage == nil {
		tidyIfIdle(filepath.Dir(d.dir), d.dir)
		return nil, nil
	}
	lock, err := d.lock(ctx, filepath.Dir(d.dir))
	if err != nil {
		return damage, fmt.Errorf("locking the cache directory %q: %w", filepath.Dir(d.dir), err)
	}
	err = discard(d.dir)
	lock.Close()
	if err != nil {
		return damage, fmt.Errorf("removing %q: %w", d.dir, err)
	}
	return damage, d.ensure(ctx)
}

// distribution is the embedded one, wherever it is by now.
func (s Source) distribution() distribution {
	return distribution{
		dir:      filepath.Join(s.CacheDir, "python", embeddedVersion()+"-"+embeddedKey()),
		files:    embeddedFiles,
		progress: s.progress,
	}
}

// Carries is the version of the Python in this binary; empty where there is none.
func Carries() string { return embeddedVersion() }

// embeddedVersion is "3.14.6"; empty in a binary that carries none.
func embeddedVersion() string {
	version, _, _ := strings.Cut(embeddedRelease, "-")
	return version
}

// embeddedExe is the interpreter of the embedded distribution whose root is dir.
func embeddedExe(dir string) string {
	return filepath.Join(dir, "bin", "python"+majorMinor(embeddedVersion(), "."))
}

// majorMinor is "3", sep, "14" for "3.14.6".
func majorMinor(version, sep string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], sep)
}

// embeddedKey tells apart what different builds of codemode would unpack.
func embeddedKey() string {
	parts := append([]string{embeddedRelease, runtime.GOARCH, embeddedDir, markerForm}, unneeded...)
	h := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(h[:4])
}

// A distribution is a Python unpacked below the cache.
type distribution struct {
	dir      string
	files    func() ([]file, error)
	progress func(done, total int, what string)
}

// ensure returns when the distribution is in place.
func (d distribution) ensure(ctx context.Context) error {
	root := filepath.Dir(d.dir)
	cache := filepath.Dir(root)
	if err := cachedir.Trust(cache, root, d.dir); err != nil {
		return err
	}
	if info, err := d.whole(); err == nil {
		if now := time.Now(); now.Sub(info.ModTime()).Abs() > usedEvery { // a date in the future would stay
			os.Chtimes(d.marker(), now, now) // a read-only cache keeps no dates, and needs none
			tidyIfIdle(root, d.dir)
		}
		return nil
	}
	if err := cachedir.Make(cache, root); err != nil {
		return fmt.Errorf("making the cache directory %q for python: %w", root, err)
	}
	lock, err := d.lock(ctx, root)
	if err != nil {
		return fmt.Errorf("locking the cache directory %q: %w", root, err)
	}
	defer lock.Close()
	if _, err := d.whole(); err == nil {
		return nil // another process was faster
	}
	if err := d.build(ctx, root); err != nil {
		return fmt.Errorf("unpacking python into %q (needs 60 MB): %w", root, err)
	}
	return nil
}

func (d distribution) marker() string { return filepath.Join(d.dir, markerName) }

// whole returns the marker's file of a distribution that is complete: the interpreter can be executed, is not
// set-user-ID, and finds its library. It costs a few microseconds, since every start asks.
func (d distribution) whole() (fs.FileInfo, error) {
	const permissions = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	for _, path := range d.vital() {
		fi, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		if fi.Mode()&permissions != openMode {
			return nil, fmt.Errorf("%q has mode %v", path, fi.Mode())
		}
	}
	return os.Stat(d.marker())
}

// vital are the interpreter, and the folders without which it does not start.
func (d distribution) vital() []string {
	exe := embeddedExe(d.dir)
	library := filepath.Join(d.dir, "lib", filepath.Base(exe))
	return []string{filepath.Dir(exe), exe, filepath.Dir(library), library, filepath.Join(library, "encodings")}
}

// lock waits for the lock of the directory root.
func (d distribution) lock(ctx context.Context, root string) (*flock.Flock, error) {
	return lockCache(ctx, root, func() { d.progress(0, 100, "waiting for another codemode to unpack python") })
}

// lockCache waits for the lock of a directory of the cache; waiting is called when another process has it.
func lockCache(ctx context.Context, root string, waiting func()) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(root, ".lock"))
	got, err := lock.TryLock()
	if err == nil && !got {
		waiting()
		if _, err = lock.TryLockContext(ctx, lockRetry); ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// build unpacks beside the final place and renames. The lock is held.
func (d distribution) build(ctx context.Context, root string) error {
	if err := removeTemps(root); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(root, tempPrefix)
	if err != nil {
		return err
	}
	defer tidy(root, d.dir)
	tree := filepath.Join(tmp, "tree")
	if err := d.fill(ctx, tree); err != nil {
		return err
	}
	if err := discard(d.dir); err != nil { // one that has lost its marker
		return err
	}
	return os.Rename(tree, d.dir)
}

// tidy removes temporary directories, and distributions other than current that nobody has used for a
// while. The lock is held. What cannot be removed costs only space, and is tried again another day.
func tidy(root, current string) {
	_ = removeTemps(root)                                             // the next one does
	markers, _ := filepath.Glob(filepath.Join(root, "*", markerName)) // the pattern is well-formed
	for _, m := range markers {
		dir := filepath.Dir(m)
		info, err := os.Stat(m)
		if err == nil && dir != current && time.Since(info.ModTime()) > keepUnused {
			discard(dir)
		}
	}
}

// removeTemps removes what is half-written, whose makers are dead. With an error there is some left: who cannot remove
// what was left, for want of descriptors say, must not leave more.
func removeTemps(root string) error {
	entries, err := os.ReadDir(root)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, e.Name())))
		}
	}
	return err
}

// tidyIfIdle is tidy, unless another process is at work in root.
func tidyIfIdle(root, current string) {
	lock := flock.New(filepath.Join(root, ".lock"))
	defer lock.Close()
	if got, err := lock.TryLock(); err == nil && got {
		tidy(root, current)
	}
}

// discard removes dir such that it is never there by halves. No dir is fine.
func discard(dir string) error {
	tmp := filepath.Join(filepath.Dir(dir), tempPrefix+filepath.Base(dir))
	if err := os.Rename(dir, tmp); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if os.RemoveAll(tmp) == nil {
		return nil
	}
	_ = openModes(tmp) // a folder in it can be listed no longer
	return os.RemoveAll(tmp)
}
