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
	"reflect"
	"sync"
	"time"

	"codemode/internal/cachedir"
)

// Trees keeps the trees of guests on disk, byte-compiled: written once, then mounted by every
// sandbox. The name of a directory is a hash of what it holds, so nothing is ever changed in place.
type Trees struct {
	Root string // the cache's directory for them

	mu    sync.Mutex
	known map[guestKey]guestTree
}

// maxKnown bounds what a caller that makes a new fs.FS for each start can have us remember.
const maxKnown = 16

// A guestKey identifies a tree without reading it again.
type guestKey struct {
	files fs.FS
	tag   string
}

// A guestTree is a tree that has been read.
type guestTree struct {
	name  string // of its directory
	files map[string][]byte
}

// Dir returns the host directory that holds files, byte-compiled with py. It costs some stat calls once
// the tree is there: a cache may be emptied at any time.
func (g *Trees) Dir(ctx context.Context, files fs.FS, py *Interpreter) (string, error) {
	tree, err := g.tree(files, py.Own(py.Tag+" "+py.Version))
	if err != nil {
		return "", fmt.Errorf("reading the guest's files: %w", err)
	}
	dir := filepath.Join(g.Root, tree.name)
	if err := cachedir.Trust(filepath.Dir(g.Root), g.Root, dir); err != nil {
		return "", err
	}
	if tree.complete(dir) {
		return dir, nil
	}
	if err := g.write(ctx, dir, tree, py); err != nil {
		return "", fmt.Errorf("writing the guest's files to %q: %w", dir, err)
	}
	return dir, nil
}

// tree reads and hashes files, once for each value that can be compared, as an embed.FS can.
func (g *Trees) tree(files fs.FS, tag string) (guestTree, error) {
	comparable := reflect.TypeOf(files).Comparable()
	if comparable {
		g.mu.Lock()
		t, ok := g.known[guestKey{files, tag}]
		g.mu.Unlock()
		if ok {
			return t, nil
		}
	}
	t := guestTree{files: map[string][]byte{}}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n", tag)
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, path)
		fmt.Fprintf(sum, "%q %d\n", path, len(b))
		sum.Write(b)
		t.files[path] = b
		return err
	})
	if err != nil {
		return guestTree{}, err
	}
	t.name = hex.EncodeToString(sum.Sum(nil)[:8])
	if comparable {
		g.mu.Lock()
		if g.known == nil || len(g.known) == maxKnown {
			g.known = map[guestKey]guestTree{}
		}
		g.known[guestKey{files, tag}] = t
		g.mu.Unlock()
	}
	return t, nil
}

// complete tells whether dir has every file of the tree. The directory got its name when it was
// finished, so a file is missing only when somebody cleaned up.
func (t guestTree) complete(dir string) bool {
	for path, b := range t.files {
		fi, err := os.Stat(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil || fi.Size() != int64(len(b)) {
			return false
		}
	}
	return len(t.files) > 0
}

// write makes dir, under a lock: its holder knows that the makers of what is half-written are dead.
func (g *Trees) write(ctx context.Context, dir string, t guestTree, py *Interpreter) error {
	if err := cachedir.Make(filepath.Dir(g.Root), g.Root); err != nil {
		return err
	}
	lock, err := lockCache(ctx, g.Root, func() {})
	if err != nil {
		return err
	}
	defer lock.Close()
	if t.complete(dir) {
		return nil // another process was faster
	}
	if err := removeTemps(g.Root); err != nil {
		return err
	}
	g.prune() // before there is anything of ours, which a clock that jumps would let seem old
	temp, err := os.MkdirTemp(g.Root, tempPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for path, b := range t.files {
		name := filepath.Join(temp, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, b, 0o644); err != nil {
			return err
		}
	}
	if err := py.Compile(ctx, temp); err != nil {
		return err
	}
	if _, ok := t.files[startModule]; ok {
		if err := py.keepStart(ctx, temp); err != nil {
			return err
		}
	}
	if err := readableByAll(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err == nil {
		return nil
	}
	// What is in the way lost files. A sandbox that has it mounted keeps what it has.
	old := temp + ".old"
	defer os.RemoveAll(old)
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(temp, dir)
}

// unusedAfter is how old a tree must be to be taken for an older version's. One that is needed after all is
// written again, and a sandbox that has it mounted keeps it.
const unusedAfter = 7 * 24 * time.Hour

// prune removes the trees of older versions. The lock is held.
func (g *Trees) prune() {
	entries, _ := os.ReadDir(g.Root)
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && e.IsDir() && time.Since(fi.ModTime()) > unusedAfter {
			_ = os.RemoveAll(filepath.Join(g.Root, e.Name()))
		}
	}
}

// readableByAll undoes a umask: where codemode is root, the guest is another user. Of what an interpreter has left
// beside its bytecode, a link would have another file's mode changed.
func readableByAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.Chmod(path, 0o755)
		case d.Type().IsRegular():
			return os.Chmod(path, 0o644)
		}
		return fmt.Errorf("%q is no regular file: the interpreter has left it there", path)
	})
}
