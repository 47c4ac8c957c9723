package plainfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"codemode/internal/fileerr"
)

// Follow is where an absolute path leads that its user wrote: through links on the way to a trusted folder and directly
// in the root, such as macOS's /tmp, and through no other, which is a *LinkError: whoever may change a folder above it
// has chosen where it leads. What is not there leads nowhere else.
func Follow(path string, trusted []string) (string, error) {
	base := trunk(path, trusted)
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", fileerr.Cause(err)
	}
	rest, err := filepath.Rel(base, path)
	if err != nil || rest == "." {
		return real, err
	}
	top := base == filepath.Dir(base)
	names := strings.Split(rest, string(filepath.Separator))
	for i, name := range names {
		next := filepath.Join(real, name)
		fi, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return filepath.Join(append([]string{real}, names[i:]...)...), nil
		case err != nil:
			return "", fileerr.Cause(err)
		case fi.Mode()&linked == 0:
			real = next
		case top && i == 0:
			if real, err = filepath.EvalSymlinks(next); err != nil {
				return "", fileerr.Cause(err)
			}
		default:
			return "", &LinkError{next, names[i+1:]}
		}
	}
	return real, nil
}

// ReadFollowed reads a file of at most limit bytes by a path that Follow follows. What is opened is where that has led.
func ReadFollowed(path string, trusted []string, limit int64) ([]byte, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("it is not an absolute path")
	}
	real, err := Follow(filepath.Clean(path), trusted)
	if err != nil {
		return nil, err
	}
	dir, err := OpenFolder(filepath.Dir(real), 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	was, err := dir.Lstat(filepath.Base(real))
	if err != nil {
		return nil, fileerr.Cause(err)
	}
	f, err := dir.OpenFile(filepath.Base(real), flags, 0)
	if err == nil {
		if is, err := f.Stat(); err != nil || !os.SameFile(was, is) { // another file in the folder
			f.Close()
			return nil, ErrLink
		}
	}
	return read(f, err, limit)
}

// linked are the modes of links, and of Windows' junctions.
const linked = fs.ModeSymlink | fs.ModeIrregular

// trunk is the longest beginning of a path that it has in common with a trusted one.
func trunk(path string, trusted []string) string {
	for dir := path; ; dir = filepath.Dir(dir) {
		if dir == filepath.Dir(dir) {
			return dir
		}
		for _, t := range trusted {
			if rest, err := filepath.Rel(dir, t); err == nil && filepath.IsAbs(t) && filepath.IsLocal(rest) {
				return dir
			}
		}
	}
}

// A LinkError is a link that is not followed.
type LinkError struct {
	link string
	rest []string // of the path behind it
}

// Error says where the link itself leads, and not whether anything is there: code that has made it may read this.
func (e *LinkError) Error() string {
	leads, err := os.Readlink(e.link)
	if err != nil {
		return fmt.Sprintf("%q is a link", e.link)
	}
	if !filepath.IsAbs(leads) {
		leads = filepath.Join(filepath.Dir(e.link), leads)
	}
	leads = filepath.Join(append([]string{leads}, e.rest...)...)
	return fmt.Sprintf("%q is a link: name %q, if it is what you mean", e.link, leads)
}
