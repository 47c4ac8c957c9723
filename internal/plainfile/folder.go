package plainfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"codemode/internal/fileerr"
)

// ErrLink is a link that has come into the way of a path that had none.
var ErrLink = errors.New("a link is there now; nothing was written")

// OpenFolder opens a folder by its real path, to stay there whatever becomes of its name: a link that has come into
// the way since somebody has looked is an error. With a mode other than 0, folders that are missing are made.
func OpenFolder(path string, mode fs.FileMode) (*os.Root, error) {
	dir, err := openReal(path)
	if above := filepath.Dir(path); mode != 0 && above != path && errors.Is(err, fs.ErrNotExist) {
		parent, err := OpenFolder(above, mode)
		if err != nil {
			return nil, err
		}
		defer parent.Close()
		name := filepath.Base(path)
		if err := parent.Mkdir(name, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fileerr.Cause(err)
		}
		dir, err = parent.OpenRoot(name) // which leads out of its parent through no link
		return dir, fileerr.Cause(err)
	}
	return dir, fileerr.Cause(err)
}

// openCompared opens a folder, and then sees that its path still leads there, and through no link.
func openCompared(path string) (*os.Root, error) {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	there, now := os.Lstat(path)
	real, resolved := filepath.EvalSymlinks(path)
	if err = errors.Join(err, now, resolved); err == nil && (real != path || !os.SameFile(opened, there)) {
		err = ErrLink
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}
