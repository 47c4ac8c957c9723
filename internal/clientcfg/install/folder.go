package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"codemode/internal/fileerr"
	"codemode/internal/plainfile"
)

// folder opens the folder that a file is in, to stay there whatever becomes of its name. With a mode other than 0,
// folders that are missing are made: for the user alone, but in a project as the umask has it.
func (f file) folder(scope fs.FileMode) (*os.Root, error) {
	mode := scope
	switch scope {
	case private:
		mode = 0o700
	case shared:
		mode = 0o755
	}
	if f.root != "" {
		dir, _, err := descend(f.root, filepath.Dir(f.path), mode)
		return dir, err
	}
	if mode != 0 {
		for _, dir := range f.above {
			if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, fileerr.Cause(err)
			}
		}
	}
	dir, err := os.OpenRoot(filepath.Dir(f.path))
	return dir, fileerr.Cause(err)
}

// descend opens a folder of a project and follows no link on the way: one that came with a clone could lead anywhere.
// Where a folder is missing it is made, or with mode 0 the error says so, and the path is that of the first one.
func descend(root, path string, mode fs.FileMode) (dir *os.Root, missing string, err error) {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return nil, "", err
	}
	if dir, err = os.OpenRoot(root); err != nil {
		return nil, "", fileerr.Cause(err)
	}
	if rel == "." {
		return dir, "", nil
	}
	at := root
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		next, err := step(dir, name, at, mode)
		dir.Close()
		if err != nil {
			return nil, at, err
		}
		dir = next
	}
	return dir, "", nil
}

// step opens a folder within another one. What it looked at and what it opened are the same.
func step(dir *os.Root, name, at string, mode fs.FileMode) (*os.Root, error) {
	next, err := plainfile.OpenIn(dir, name, mode)
	switch {
	case errors.Is(err, plainfile.ErrLink):
		to, err := dir.Readlink(name)
		if err != nil {
			return nil, errChanged // it is none any more
		}
		return nil, &LinkError{at, to}
	case err != nil && !fileerr.IsMissing(err):
		return nil, fmt.Errorf("opening %q: %w", at, err)
	}
	return next, err
}

// A LinkError is a link in a project's folder, where none is followed.
type LinkError struct{ Path, To string }

func (e *LinkError) Error() string {
	return fmt.Sprintf(
		"%q is a symbolic link to %q, and in a project no link is followed; nothing was written", e.Path, e.To,
	)
}

// openInProject reads a project's file without following a link.
func openInProject(root, path string) (file, error) {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return file{path: path}, err
	}
	if resolved, err := filepath.EvalSymlinks(root); err == nil { // the user's own way to the project
		root = resolved
	}
	f := file{path: filepath.Join(root, rel), root: root}
	dir, missing, err := descend(root, filepath.Dir(f.path), 0)
	if fileerr.IsMissing(err) {
		for at := filepath.Dir(f.path); len(at) >= len(missing); at = filepath.Dir(at) {
			f.above = append([]string{at}, f.above...)
		}
		return f, nil
	}
	if err != nil {
		return f, err
	}
	defer dir.Close()
	base := filepath.Base(f.path)
	info, err := dir.Lstat(base)
	if fileerr.IsMissing(err) {
		return f, nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		to, _ := dir.Readlink(base)
		return f, &LinkError{path, to}
	}
	if err == nil && info.Mode().IsRegular() && info.Mode()&0o200 == 0 {
		return f, errReadOnly
	}
	if f.data, err = readRegular(dir, base); err != nil {
		return f, fileerr.Cause(err)
	}
	f.info = info
	return f, nil
}
