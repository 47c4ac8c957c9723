package python

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"codemode/internal/cachedir"
)

// Pip is the folder that holds pip, unpacked in the cache and byte-compiled for py. It is run by nobody here: what it
// does with an index's answers is not to be done outside of a sandbox.
func (s Source) Pip(ctx context.Context, py *Interpreter) (string, error) {
	root := filepath.Join(s.CacheDir, "python")
	dir := filepath.Join(root, py.Own("pip-"+pipRelease+"-"+py.Tag))
	if err := cachedir.Trust(s.CacheDir, root, dir); err != nil {
		return "", err
	}
	if pipIsWhole(dir) {
		return dir, nil
	}
	if err := cachedir.Make(s.CacheDir, root); err != nil {
		return "", fmt.Errorf("making the cache directory %q for pip: %w", root, err)
	}
	lock, err := lockCache(ctx, root, func() { s.progress(0, 100, "waiting for another codemode to unpack pip") })
	if err != nil {
		return "", fmt.Errorf("locking the cache directory %q: %w", root, err)
	}
	defer lock.Close()
	if pipIsWhole(dir) {
		return dir, nil // another process was faster
	}
	defer s.progress(100, 100, "")
	if err := s.unpackPip(ctx, root, dir, py); err != nil {
		return "", fmt.Errorf("unpacking pip into %q: %w", root, err)
	}
	return dir, nil
}

// pipIsWhole also keeps what is used from being tidied away.
func pipIsWhole(dir string) bool {
	marker := filepath.Join(dir, markerName)
	info, err := os.Stat(marker)
	if err != nil {
		return false
	}
	if _, err := os.Stat(filepath.Join(dir, "pip", "__main__.py")); err != nil {
		return false
	}
	if now := time.Now(); now.Sub(info.ModTime()).Abs() > usedEvery {
		_ = os.Chtimes(marker, now, now)
	}
	return true
}

// unpackPip fills a folder beside the final one and renames it. The lock is held.
func (s Source) unpackPip(ctx context.Context, root, dir string, py *Interpreter) error {
	if err := removeTemps(root); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(root, tempPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	s.progress(0, 100, "unpacking pip")
	tree, err := extractPip(temp, os.TempDir())
	if err != nil {
		return err
	}
	err = compileTree(ctx, py.program(), tree, dir, func(done, total int) {
		s.progress(100*done/(total+1), 100, "compiling pip")
	})
	if err != nil {
		return err
	}
	if err := openModes(tree); err != nil {
		return err
	}
	if err := syncTree(tree); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tree, markerName), nil, 0o644); err != nil {
		return err
	}
	if err := discard(dir); err != nil {
		return err
	}
	return os.Rename(tree, dir)
}

// ABI is which compiled files the interpreter takes, such as "cpython-314". Nothing is unpacked to know it.
func (s Source) ABI(ctx context.Context) (string, error) {
	if s.Interpreter == "" {
		return "cpython-" + majorMinor(embeddedVersion(), ""), nil
	}
	py, err := s.Prepare(ctx)
	if err != nil {
		return "", err
	}
	return py.Tag, nil
}
