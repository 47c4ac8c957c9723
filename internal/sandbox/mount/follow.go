package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"codemode/internal/fileerr"
)

// Follow is where a path leads that its user wrote: through links on the way to a trusted folder and directly in the
// root, such as macOS's /tmp, and through no other. What is not there leads nowhere else.
func (r Rules) Follow(path string) (string, error) {
	base := trunk(path, r.Trusted)
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
			return "", &linkError{next, names[i+1:]}
		}
	}
	return real, nil
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

// linkError is a link in what the user wrote.
type linkError struct {
	link string
	rest []string // of the path behind it
}

func (e *linkError) Error() string {
	leads, err := filepath.EvalSymlinks(e.link)
	if err != nil {
		return fmt.Sprintf("%q is a link that leads nowhere", e.link)
	}
	leads = filepath.Join(append([]string{leads}, e.rest...)...)
	return fmt.Sprintf("%q is a link: name %q, if it is what you mean", e.link, leads)
}
