package plainfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"codemode/internal/fileerr"
)

// ErrLink is a link that has come into the way of a path that had none, or that is where a folder of its own was to be.
var ErrLink = errors.New("a link is there now, which is not followed")

var errNoFolder = errors.New("it is not a directory")

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
		return OpenIn(parent, filepath.Base(path), mode)
	}
	return dir, fileerr.Cause(err)
}

// OpenIn opens a folder that is directly in another. A link is an error, wherever it leads: what was looked at is what
// is opened. With a mode other than 0 it is made where it is missing.
func OpenIn(dir *os.Root, name string, mode fs.FileMode) (*os.Root, error) {
	was, err := dir.Lstat(name)
	if mode != 0 && errors.Is(err, fs.ErrNotExist) {
		if err = dir.Mkdir(name, mode); err == nil || errors.Is(err, fs.ErrExist) {
			was, err = dir.Lstat(name)
		}
	}
	switch {
	case err != nil:
		return nil, fileerr.Cause(err)
	case was.Mode()&linked != 0:
		return nil, ErrLink
	case !was.IsDir():
		return nil, errNoFolder
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, fileerr.Cause(err)
	}
	if is, err := next.Stat("."); err != nil || !os.SameFile(was, is) {
		next.Close()
		return nil, ErrLink
	}
	return next, nil
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
