package packages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codemode/internal/fileerr"
	"codemode/internal/hint"
	"codemode/internal/plainfile"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"
)

// markName is the file in a layer that says it is whole, and holds the digest of all others.
const (
	markName = ".codemode-layer"
	maxMark  = 4 << 10 // bytes of it that are read
)

// compile byte-compiles the folder argv[1], shown as argv[2]. What cannot be compiled, a template or another Python's,
// stays source. Bytecode whose hash is not checked is valid whatever modification time a mount shows.
const compile = `import os, sys, py_compile

root, shown = sys.argv[1:]
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
files = [os.path.join(at, n) for at, _, names in os.walk(root) for n in names if n.endswith(".py")]
workers = min(4, os.cpu_count() or 1, 1 + len(files) // 100)
children = []
for share in range(1, workers):
    child = os.fork()
    if not child:
        children = None
        break
    children.append(child)
else:
    share = 0
for path in files[share::workers]:
    try:
        py_compile.compile(path, dfile=shown + path[len(root):], doraise=True, invalidation_mode=mode)
    except Exception:
        pass
if children is None:
    os._exit(0)
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))`

// Layer is where a lock's packages are, for an ABI; false where they are not, or not whole.
func (s *Store) Layer(l *Lock, abi string) (sandbox.Packages, bool) {
	dir := filepath.Join(s.layers(), l.layerName(abi))
	if _, err := os.Stat(filepath.Join(dir, markName)); err != nil {
		return sandbox.Packages{}, false
	}
	return sandbox.Packages{Host: dir, ABI: abi}, true
}

// makeLayer makes the layer of a lock whose wheels are there. The guard is held.
func (s *Store) makeLayer(ctx context.Context, l *Lock) error {
	py, err := s.Source.Prepare(ctx)
	if err != nil {
		return err
	}
	if p, there := s.Layer(l, py.Tag); there {
		now := time.Now()
		_ = os.Chtimes(p.Host, now, now)
		return nil
	}
	if err := s.fitting(ctx, l); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(s.Cache, tempName) // what is among the layers is seen by guests, and whole
	if err != nil {
		return fmt.Errorf("making a layer: %w", fileerr.Cause(err))
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o755); err != nil { // root's guests are somebody else
		return fmt.Errorf("making a layer: %w", fileerr.Cause(err))
	}
	if err := s.unpack(ctx, l, temp); err != nil {
		return err
	}
	s.progress("compiling packages")
	may := sandbox.Restrictions{Write: []string{temp}}
	err = s.run(ctx, py, may, []string{compile, temp, python.PackagesDir}, func(string) {})
	if err != nil {
		return fmt.Errorf("compiling packages: %w; nothing was added", err)
	}
	sum, err := settle(temp)
	if err == nil {
		err = os.WriteFile(filepath.Join(temp, markName), []byte(sum), 0o444)
	}
	if err == nil {
		err = syncTree(temp)
	}
	final := filepath.Join(s.layers(), l.layerName(py.Tag))
	if err == nil {
		err = os.RemoveAll(final) // one that has lost its mark
	}
	if err == nil {
		err = os.Rename(temp, final)
	}
	if err != nil {
		return fmt.Errorf("making a layer: %w; nothing was added", fileerr.Cause(err))
	}
	return nil
}

// unpack fills a folder with what the wheels of a lock hold.
func (s *Store) unpack(ctx context.Context, l *Lock, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("making a layer: %w", fileerr.Cause(err))
	}
	defer root.Close()
	room, has := int64(maxUnpacked), newModules()
	for _, p := range l.Packages {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s.progress("unpacking " + p.Wheel().Name)
		took, err := s.unpackWheel(root, p, has, room)
		if err != nil {
			name := p.Wheel().Name
			text := fmt.Sprintf("the wheel %s cannot be used: %v; nothing was added", name, fileerr.Cause(err))
			return hint.New(text, "another version may be sound: codemode packages add "+hint.Word(p.Name+"==VERSION"))
		}
		room -= took
	}
	return nil
}

func (s *Store) unpackWheel(root *os.Root, p Package, has modules, room int64) (int64, error) {
	f, err := os.Open(filepath.Join(s.wheels(), p.wheelName()))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	a, err := openArchive(f, p)
	if err == nil {
		err = has.add(p, a)
	}
	if err != nil {
		return 0, err
	}
	return a.unpack(root, room)
}

// settle gives what is in a layer its modes, refuses what nobody has put there, and sums it up. The compiler, which has
// read strangers' source, could write to the folder.
func settle(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == filepath.Join(dir, markName) {
			return err
		}
		mode := fs.FileMode(0o444)
		switch {
		case d.IsDir():
			mode = 0o755 // or nobody but root could remove it again
		case !d.Type().IsRegular():
			return fmt.Errorf("%q in it is no regular file", strings.TrimPrefix(path, dir))
		}
		if info, err := d.Info(); err != nil || info.Mode()&^fs.ModeDir != mode {
			if err := errors.Join(err, os.Chmod(path, mode)); err != nil {
				return err
			}
		}
		return addTo(sum, dir, path, d)
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

func addTo(sum interface{ Write([]byte) (int, error) }, dir, path string, d fs.DirEntry) error {
	content := ""
	if !d.IsDir() {
		var err error
		if content, err = sumOf(context.Background(), path); err != nil {
			return err
		}
	}
	fmt.Fprintf(sum, "%v %s %q\n", d.IsDir(), content, strings.TrimPrefix(path, dir))
	return nil
}

// Verify reads a lock's layer and wheels, and makes again what is lost or damaged, by the hashes of the lock. It
// returns what was wrong.
func (s *Store) Verify(ctx context.Context, l *Lock) (damage []string, err error) {
	if len(l.Packages) == 0 {
		return nil, nil
	}
	for _, dir := range []string{s.layers(), s.wheels()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("making a folder for packages: %w", err)
		}
	}
	if err := s.fitting(ctx, l); err != nil { // before anything is called lost
		return nil, err
	}
	guard, err := s.guard(ctx)
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	s.sweep()
	for _, p := range l.Packages {
		sum, err := sumOf(ctx, filepath.Join(s.wheels(), p.wheelName()))
		if err != nil || sum != p.Wheel().Hashes["sha256"] {
			damage = append(damage, "wheel "+p.Wheel().Name)
		}
	}
	abi, err := s.Source.ABI(ctx)
	if err != nil {
		return nil, err
	}
	layer, there := s.Layer(l, abi)
	if there {
		want, _ := plainfile.Read(filepath.Join(layer.Host, markName), maxMark)
		got, err := digest(layer.Host)
		if there = err == nil && got == string(want); !there {
			if err := s.discard(layer.Host); err != nil {
				return nil, fmt.Errorf("removing a damaged layer: %w", fileerr.Cause(err))
			}
		}
	}
	if !there {
		damage = append(damage, "the layer")
	}
	if len(damage) == 0 {
		return nil, nil
	}
	if err := s.fetch(ctx, l); err != nil {
		return damage, err
	}
	return damage, s.makeLayer(ctx, l)
}

// discard takes a layer away such that it is never there by halves.
func (s *Store) discard(dir string) error {
	temp := filepath.Join(s.Cache, tempName+filepath.Base(dir))
	if err := os.Rename(dir, temp); err != nil {
		return err
	}
	return os.RemoveAll(temp)
}

// digest sums up a layer as it is.
func digest(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == filepath.Join(dir, markName) {
			return err
		}
		if !d.IsDir() && !d.Type().IsRegular() {
			return fmt.Errorf("%q is no regular file", path)
		}
		return addTo(sum, dir, path, d)
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}
