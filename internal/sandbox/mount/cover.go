package mount

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/fileerr"
	"codemode/internal/hint"
	"codemode/internal/plainfile"
	"codemode/internal/sandbox"
)

// bounds are how much of a folder is looked through and covered.
type bounds struct {
	entries, folders int // which a start takes longer by
	covered          int // each is a mount
}

var most = bounds{entries: 20_000, folders: 2_000, covered: 256}

const (
	// maxIgnore bounds a .gitignore in bytes, and maxPatterns all of a folder's.
	maxIgnore   = 64 << 10
	maxPatterns = 2_000
	// leafEntries is how many files of a folder without folders are looked at.
	leafEntries = 1024
	// maxSteps bounds what comparing names with patterns takes: about a second.
	maxSteps = 50_000_000
)

// look finds what of a folder no code is to see: files whose names are those of secrets, and what a .gitignore names,
// in a repository that it is, or that lies in it. A folder within a repository has been named by itself, but for one
// that was picked: there they count without a repository too, and those above up to the repository's top; one that
// they name is an error. It looks at names alone, at each folder before those in it, and within bounds: partly says
// why it has not seen everything. Somebody who changes the folder meanwhile has it look elsewhere, and what it finds
// there is not in the folder.
func look(dir string, picked bool, most bounds) (covers []sandbox.Cover, partly string, err error) {
	l := looker{dir: dir, most: most}
	first := folder{path: "."}
	if picked {
		if first, err = l.begin(); err != nil {
			return nil, "", err
		}
	}
	l.folders = []folder{first}
	for i := 0; i < min(len(l.folders), most.folders) && l.left(); i++ {
		l.folder(l.folders[i])
	}
	l.coverTargets(first.path)
	if first.path != "." {
		for i := range l.covers {
			l.covers[i].Path = strings.TrimPrefix(l.covers[i].Path, first.path+"/")
		}
	}
	switch {
	case l.partly != "":
	case !l.left():
		l.partly = fmt.Sprintf("%d files and folders or more are in it, too many to look through", most.entries)
	case len(l.folders) > most.folders:
		l.partly = fmt.Sprintf("more than %d folders are in it, too many to look through", most.folders)
	}
	// What looks like a secret comes first, where there is too much.
	slices.SortStableFunc(l.covers, func(a, b sandbox.Cover) int {
		if a.Ignored == b.Ignored {
			return 0
		}
		if a.Ignored {
			return 1
		}
		return -1
	})
	if len(l.covers) > most.covered {
		l.covers = l.covers[:most.covered]
		l.partly = cmp.Or(l.partly, fmt.Sprintf(
			"more than %d in it look like secrets or are named by .gitignore, too many to leave out", most.covered,
		))
	}
	return l.covers, l.partly, nil
}

// A looker looks through a folder.
type looker struct {
	dir      string
	most     bounds
	folders  []folder // to be looked through, those that have been in front
	covers   []sandbox.Cover
	links    []string // whose names are those of secrets
	entries  int
	patterns int
	steps    int    // of comparing names with patterns
	partly   string // why something could not be looked at
}

// A folder is below the looker's, by its path in it.
type folder struct {
	path  string
	rules *rules // of its repository; nil is none
}

// rules are the patterns of a folder, those of the ones above it behind them.
type rules struct {
	base     string // the paths that they are about are below it
	anyCase  bool   // in which letters of them are compared
	patterns []pattern
	above    *rules
}

// some tells whether there is a pattern.
func (r *rules) some() bool {
	for ; r != nil; r = r.above {
		if len(r.patterns) > 0 {
			return true
		}
	}
	return false
}

func (l *looker) at(path string) string { return filepath.Join(l.dir, filepath.FromSlash(path)) }

// begin has the looker see its folder from the top of the repository that it is in, by whose rules it begins. Without
// one its rules are its own.
func (l *looker) begin() (folder, error) {
	dir := l.dir
	for top := dir; ; top = filepath.Dir(top) {
		if isRepository(top) {
			l.dir = top
			break
		}
		if top == filepath.Dir(top) {
			break
		}
	}
	f := folder{".", &rules{base: ".", anyCase: systemsCase}}
	rel, err := filepath.Rel(l.dir, dir)
	if err != nil || rel == "." {
		return f, err
	}
	for name := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		f.rules = l.rulesOf(f)
		f.path = path.Join(f.path, name)
		if l.ignored(f.rules, f.path, true) {
			return f, hint.New("the repository that it is in ignores it, by a .gitignore or its .git/info/exclude",
				nameIt(dir))
		}
	}
	return f, nil
}

// nameIt is how a user shows a folder that is refused where it is not they who name it.
func nameIt(dir string) string { return "to show it all the same, name it: --mount " + hint.Word(dir) }

// lack says why not everything was looked at, unless something has said so before.
func (l *looker) lack(format string, args ...any) {
	l.partly = cmp.Or(l.partly, fmt.Sprintf(format, args...))
}

// left tells whether more may be looked at.
func (l *looker) left() bool {
	return l.entries < l.most.entries
}

// folder looks at what is directly in one.
func (l *looker) folder(f folder) {
	dir, err := os.Open(l.at(f.path))
	if err != nil {
		// What its owner cannot open, no code of theirs can.
		if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			l.lack("%q in it cannot be looked through: %v", f.path, fileerr.Cause(err))
		}
		return
	}
	defer dir.Close()
	f.rules = l.rulesOf(f)
	if !f.rules.some() && isLeaf(dir) {
		l.leaf(f, dir)
		return
	}
	for l.left() {
		list, err := dir.ReadDir(min(1024, l.most.entries-l.entries))
		l.entries += len(list)
		for _, entry := range list {
			l.entry(f, entry)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				l.lack("%q in it cannot be looked through: %v", f.path, fileerr.Cause(err))
			}
			return
		}
	}
}

// leaf looks at a folder without folders and rules. One of many files is not read: what that costs is the same for a
// million of them, and names that are known whole are looked for alone.
func (l *looker) leaf(f folder, dir *os.File) {
	list, _ := dir.ReadDir(min(leafEntries, l.most.entries-l.entries))
	if _, err := dir.ReadDir(1); errors.Is(err, io.EOF) {
		l.entries += len(list)
		for _, entry := range list {
			l.entry(f, entry)
		}
		return
	}
	for _, name := range secretFiles(filepath.Base(l.at(f.path))) {
		name = path.Join(f.path, name)
		if fi, err := os.Lstat(l.at(name)); err == nil && fi.Mode().IsRegular() {
			l.covers = append(l.covers, sandbox.Cover{Path: name})
		}
	}
}

func (l *looker) entry(f folder, entry fs.DirEntry) {
	kind := entry.Type()
	file := kind.IsRegular()
	secret := isSecret(filepath.Base(l.at(f.path)), entry.Name(), kind.IsDir())
	if secret && kind&fs.ModeSymlink != 0 {
		l.links = append(l.links, path.Join(f.path, entry.Name()))
		return
	}
	if !file && !kind.IsDir() || file && f.rules == nil && !secret {
		return
	}
	name := path.Join(f.path, entry.Name())
	switch {
	case secret:
		l.covers = append(l.covers, sandbox.Cover{Path: name, Dir: kind.IsDir()})
	case f.rules != nil && entry.Name() != ".git" && l.ignored(f.rules, name, kind.IsDir()):
		l.covers = append(l.covers, sandbox.Cover{Path: name, Dir: kind.IsDir(), Ignored: true})
	case kind.IsDir() && entry.Name() != ".git":
		l.folders = append(l.folders, folder{name, f.rules})
	}
}

// coverTargets covers files below top that links with names of secrets lead to: their own names may be any.
func (l *looker) coverTargets(top string) {
	covered := map[string]bool{}
	for _, c := range l.covers {
		covered[c.Path] = true
	}
	root, err := filepath.EvalSymlinks(l.at(top))
	if err != nil {
		return // it has just gone
	}
	for _, link := range l.links {
		target, err := filepath.EvalSymlinks(l.at(link))
		if err != nil {
			continue // it leads nowhere
		}
		rel, err := filepath.Rel(root, target)
		if fi, e := os.Lstat(target); err != nil || e != nil || !filepath.IsLocal(rel) || !fi.Mode().IsRegular() {
			continue
		}
		name := path.Join(top, filepath.ToSlash(rel))
		within := covered[name]
		for above := path.Dir(name); above != "." && !within; above = path.Dir(above) {
			within = covered[above]
		}
		if !within {
			covered[name] = true
			l.covers = append(l.covers, sandbox.Cover{Path: name})
		}
	}
}

// ignored tells whether the last pattern that is about a path leaves it out; those of the innermost folder come last.
func (l *looker) ignored(r *rules, name string, dir bool) bool {
	if l.steps > maxSteps {
		l.lack("its .gitignore files have too many patterns, or too slow ones, for what is in it")
		return false
	}
	base := path.Base(name)
	for ; r != nil; r = r.above {
		rel := name
		if r.base != "." {
			rel = name[len(r.base)+1:]
		}
		for i := len(r.patterns) - 1; i >= 0; i-- {
			p := &r.patterns[i]
			is, steps := p.matches(rel, base, dir)
			if l.steps += steps; is {
				return !p.include
			}
		}
	}
	return false
}

// rulesOf are the rules for what is in a folder. A repository's are its own alone; what has a .git, and is none for
// git, has those of the repository around it.
func (l *looker) rulesOf(f folder) *rules {
	r := f.rules
	if _, err := os.Lstat(l.at(path.Join(f.path, ".git"))); err == nil && (r == nil || isRepository(l.at(f.path))) {
		exclude := l.exclude(f.path)
		config, _ := plainfile.Read(l.at(path.Join(exclude, "../../config")), maxIgnore)
		r = l.read(f.path, l.followed(exclude), &rules{base: f.path, anyCase: ignoreCase(config)})
	}
	if r == nil {
		return nil
	}
	return l.read(f.path, path.Join(f.path, ".gitignore"), r)
}

// isRepository tells whether a folder is the top of a repository, for git.
func isRepository(dir string) bool {
	git := filepath.Join(dir, ".git")
	if to, names := gitdir(git); names {
		git = to
	}
	_, err := os.Stat(filepath.Join(git, "HEAD"))
	return err == nil
}

// gitdir is the folder that a .git file names.
func gitdir(git string) (to string, names bool) {
	text, err := plainfile.Read(git, maxIgnore)
	to, names = strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !names {
		return "", false
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(git), to)
	}
	return to, true
}

// exclude is where a repository has patterns of its own, from the looker's folder. What a .git file names is a
// stranger's word, and counts where that repository knows of a worktree here: its own record leads back to this file.
func (l *looker) exclude(dir string) string {
	git := l.at(path.Join(dir, ".git"))
	own := path.Join(dir, ".git", "info", "exclude")
	to, names := gitdir(git)
	if !names {
		return own
	}
	back, err := plainfile.Read(filepath.Join(to, "gitdir"), maxIgnore)
	worktrees := filepath.Dir(to)
	place := strings.TrimSpace(string(back))
	if !filepath.IsAbs(place) {
		place = filepath.Join(to, place)
	}
	if err != nil || filepath.Base(worktrees) != "worktrees" || !(files{}).same(place, git) {
		return own
	}
	rel, err := filepath.Rel(l.dir, filepath.Join(filepath.Dir(worktrees), "info", "exclude"))
	if err != nil {
		return own
	}
	return filepath.ToSlash(rel)
}

// followed is where a file leads from the looker's folder. Git follows links to the one that a repository has of its
// own, which comes with no clone.
func (l *looker) followed(name string) string {
	rel, err := filepath.Rel(l.dir, plainfile.Resolve(l.at(name)))
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// read reads a file of patterns. Git follows no link to one, and nobody waits for a FIFO.
func (l *looker) read(base, name string, above *rules) *rules {
	fi, err := os.Lstat(l.at(name))
	if err != nil || !fi.Mode().IsRegular() || l.patterns > maxPatterns { // which has been told
		return above
	}
	data, err := plainfile.Read(l.at(name), maxIgnore)
	patterns := parsePatterns(data, above.anyCase)
	l.patterns += len(patterns)
	switch {
	case err != nil:
		l.lack("%q cannot be read: %v", name, err)
		return above
	case l.patterns > maxPatterns:
		l.lack("its .gitignore files have more than %d patterns", maxPatterns)
		return above
	}
	return &rules{base, above.anyCase, patterns, above}
}

// At is where a cover is on this host.
func At(m sandbox.Mount, c sandbox.Cover) string {
	return filepath.Join(m.Host, filepath.FromSlash(c.Path))
}
