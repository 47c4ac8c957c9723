package plainfile

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many links the kernel follows in a path (path_resolution(7)).
const maxLinks = 40

// Links are the symbolic links on the way to an absolute path, as filepath.EvalSymlinks follows them, each by a path
// without links above it.
func Links(path string) (found []string) {
	root := filepath.VolumeName(path) + string(filepath.Separator)
	at, rest := root, split(path[len(root)-1:])
	for len(rest) > 0 && len(found) < maxLinks {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		found = append(found, next)
		if filepath.IsAbs(target) {
			at = root
		}
		rest = append(split(target), rest...)
	}
	return found
}

func split(path string) []string { return strings.Split(path, string(filepath.Separator)) }
