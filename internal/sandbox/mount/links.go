package mount

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/plainfile"
)

// How far Linked looks, for all starts together: how many files and folders, how many folders deep, each link as one,
// and how many links. Of more it sees those that lie less deep; of one folder no more than maxEntries.
const (
	linkEntries = 100_000
	linkDepth   = 16
	linkTargets = 1000
)

// Linked adds to starts what the links in their folders of code lead to, and the links there in turn: what a link leads
// to is code like what lies beside it.
func Linked(starts []Start, homes []string) []Start {
	w := linkWalk{
		files: files{}, homes: homes, starts: slices.Clip(starts), left: linkEntries, links: linkTargets,
		named: map[string]bool{}, looked: map[string]bool{},
	}
	for _, s := range starts {
		if real := plainfile.Resolve(s.Path); s.Links && !w.aroundHome(real) {
			w.push(codeFolder{path: real, root: real, by: s.By})
		} else if s.Modules {
			w.modules(real, s)
		}
	}
	for len(w.next) > 0 && w.left > 0 {
		at := w.next[0]
		w.next = w.next[1:]
		w.look(at)
	}
	return w.starts
}

// linkWalk is one walk of Linked, in the order of depth.
type linkWalk struct {
	files
	homes  []string
	starts []Start
	next   []codeFolder
	left   int // of linkEntries
	links  int // of linkTargets

	named  map[string]bool // what links that have been followed name, and whether as a whole
	looked map[string]bool // folders that are or were next
}

// codeFolder is a folder with code, by a path without links; all that is in root is code of a start already.
type codeFolder struct {
	path, root, by string
	depth          int
}

func (w *linkWalk) push(f codeFolder) {
	if fi := w.stat(f.path); fi == nil || !fi.IsDir() || w.looked[f.path] || f.depth > linkDepth || w.systems(f.path) {
		return
	}
	w.looked[f.path] = true
	w.next = append(w.next, f)
}

// systems tells whether a folder is of those that nobody may change, where links lead to one another. In node_modules
// there, `npm link` makes links to folders of the user's.
func (w *linkWalk) systems(dir string) bool {
	under := func(top string) bool { return w.holds(top, dir) }
	modules := slices.Contains(strings.Split(filepath.ToSlash(dir), "/"), "node_modules")
	return slices.ContainsFunc(systems, under) || !modules && slices.ContainsFunc(unwritable, under)
}

func (w *linkWalk) aroundHome(dir string) bool {
	return slices.ContainsFunc(w.homes, func(home string) bool { return w.holds(dir, home) })
}

// modules begins with what Python can import in a start's folder.
func (w *linkWalk) modules(dir string, s Start) {
	if fi := w.stat(dir); fi == nil || !fi.IsDir() {
		return
	}
	for _, e := range entriesOf(dir) {
		w.left--
		name, at := e.Name(), filepath.Join(dir, e.Name())
		if slices.Contains([]string{".py", ".pyc", ".so", ".pyd"}, filepath.Ext(name)) {
			name, _, _ = strings.Cut(name, ".")
		}
		whole := !s.Home || isPackage(at)
		switch {
		case !isModule(name):
		case e.Type()&fs.ModeSymlink != 0:
			w.follow(at, codeFolder{by: s.By}, whole)
		case whole:
			w.push(codeFolder{path: at, root: at, by: s.By})
		}
	}
}

func (w *linkWalk) look(at codeFolder) {
	entries := entriesOf(at.path)
	w.left -= len(entries) + 1
	for _, e := range entries {
		switch next := filepath.Join(at.path, e.Name()); {
		case e.Type()&fs.ModeSymlink != 0:
			w.follow(next, at, true)
		case e.IsDir() && e.Name() != ".git" && (e.Name() == "node_modules" || !installed(at.path)):
			w.push(codeFolder{path: next, root: at.root, by: at.by, depth: at.depth + 1})
		}
	}
}

// installed tells whether a folder is a package in node_modules: of folders in one, node_modules alone has links.
func installed(folder string) bool {
	name, up := filepath.Base(folder), filepath.Dir(folder)
	if strings.HasPrefix(filepath.Base(up), "@") {
		up = filepath.Dir(up)
	}
	return filepath.Base(up) == "node_modules" && !strings.HasPrefix(name, "@") && !strings.HasPrefix(name, ".")
}

// follow adds what a link in a folder of code names, with all in it where it is code as a whole: not where a home is in
// it. Node looks for packages in folders above what a link leads to, too.
func (w *linkWalk) follow(link string, in codeFolder, whole bool) {
	target, err := os.Readlink(link)
	if err != nil {
		return
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(link), target)
	}
	real := plainfile.Resolve(target)
	whole = whole && !w.aroundHome(real)
	rest, err := filepath.Rel(in.root, target)
	asWhole, named := w.named[target]
	if err == nil && filepath.IsLocal(rest) || named && (asWhole || !whole) || w.links == 0 {
		return
	}
	w.named[target] = whole
	w.links--
	w.starts = append(w.starts, Start{Path: target, By: in.by, Within: whole})
	if fi := w.stat(real); !whole || fi == nil || !fi.IsDir() {
		return
	}
	w.push(codeFolder{path: real, root: real, by: in.by, depth: in.depth + 1})
	for dir := real; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		modules := filepath.Join(dir, "node_modules")
		if w.stat(modules) != nil && !w.named[modules] {
			w.named[modules] = true
			w.starts = append(w.starts, Start{Path: modules, By: in.by, Within: true})
			w.push(codeFolder{path: modules, root: modules, by: in.by, depth: in.depth + 1})
		}
	}
}

// isPackage tells whether a folder is a package of Python's, not only one that could be.
func isPackage(folder string) bool {
	return slices.ContainsFunc([]string{"__init__.py", "__main__.py"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err == nil
	})
}
