package plainfile

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many links the kernel follows in a path (path_resolution(7)).
const maxLinks = 40

// Resolve is where an absolute path leads by the symbolic links on the way to it, whether or not something is there.
func Resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	real, _ := resolve(path)
	return real
}

// Trail is an absolute path, the symbolic links on the way that it leads, each by a path without links above it, and
// where it leads: who may change one of them decides what the path is.
func Trail(path string) []string {
	_, links := resolve(path)
	return append([]string{path, Resolve(path)}, links...)
}

func resolve(path string) (real string, links []string) {
	root := filepath.VolumeName(path) + string(filepath.Separator)
	at, rest := root, split(path[len(root)-1:])
	for len(rest) > 0 && len(links) < maxLinks {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		links = append(links, next)
		if filepath.IsAbs(target) {
			at = root
		}
		rest = append(split(target), rest...)
	}
	return filepath.Join(append([]string{at}, rest...)...), links
}

func split(path string) []string { return strings.Split(path, string(filepath.Separator)) }
