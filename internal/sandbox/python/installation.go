package python

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/plainfile"
)

const (
	venvFile = "pyvenv.cfg"
	maxVenv  = 64 << 10 // bytes
	maxLinks = 40
)

// installation are folders and files that an interpreter may be of: those beside the program, beside each link on the
// way to it, and of the Python that its virtual environment was made of. Not all are there.
func installation(exe string) (list []string) {
	for range maxLinks {
		bin := realPath(filepath.Dir(exe))
		for _, root := range []string{bin, filepath.Dir(bin)} {
			list = append(
				list, filepath.Join(root, "lib"), filepath.Join(root, "lib64"), filepath.Join(root, venvFile),
			)
		}
		exe = filepath.Join(bin, filepath.Base(exe))
		list = append(list, beside(exe))
		next, err := os.Readlink(exe)
		switch {
		case err != nil:
			home := cmp.Or(VenvHome(bin), VenvHome(filepath.Dir(bin)))
			if !filepath.IsAbs(home) || slices.Contains(list, realPath(home)) {
				return list
			}
			// A stranger may have written that: what has no such program, or a link to it, is no installation.
			next = realPath(filepath.Join(home, filepath.Base(exe)))
			if checkProgram(next) != nil {
				return list
			}
		case !filepath.IsAbs(next):
			next = filepath.Join(bin, next)
		}
		exe = next
	}
	return list
}

// beside is what of a program's folder belongs to it: all of one for programs, and else, since it may be a home, the
// file alone.
func beside(exe string) string {
	if dir := filepath.Dir(exe); filepath.Base(dir) == "bin" {
		return dir
	}
	return exe
}

// VenvHome is the folder of the program that a virtual environment was made of, as its file says; "" is none.
func VenvHome(venv string) string {
	text, err := plainfile.Read(filepath.Join(venv, venvFile), maxVenv)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, "="); strings.TrimSpace(name) == "home" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Installation is what decides about an interpreter that is not the embedded one, there or not: who could change it
// could have codemode execute anything.
func (s Source) Installation() []string {
	if s.Interpreter == "" {
		return nil
	}
	exe, err := s.findInterpreter()
	if err != nil {
		return nil // so nothing is executed
	}
	return installation(exe)
}

// checkPlaces refuses an interpreter that would have guests see what is not its own: it may be any program, and say
// anything, and its folders may be links.
func checkPlaces(exe string, about inspection, py *Interpreter) error {
	own := append(installation(exe), systemTrees...)
	places := []string{realPath(about.Executable)}
	for _, b := range py.Binds {
		places = append(places, b.Host)
	}
	for _, place := range places {
		if !slices.ContainsFunc(own, func(tree string) bool { _, within := cutDir(place, tree); return within }) {
			return fmt.Errorf("%q is no part of its installation, so code is not shown it", place)
		}
	}
	return checkProgram(realPath(about.Executable))
}
