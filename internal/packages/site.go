package packages

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"codemode/internal/fileerr"
	"codemode/internal/hint"
	"codemode/internal/plainfile"
)

// From is a folder in which distributions are installed, and the names of those that were asked for from there.
type From struct {
	Dir   string   `toml:"dir"`
	Names []string `toml:"names"`
}

// A site is such a folder, as an interpreter has it: site-packages, or Debian's dist-packages. It is only read, and
// what is in it is believed no more than an index is.
type site struct {
	dir    string
	root   *os.Root
	names  []string // directly in it
	dists  map[string]*distribution
	broken map[string]error    // by name, as far as that is known
	owners map[string][]string // of a module or folder directly in it: the distributions it is of
}

// A distribution is one that is installed in a site.
type distribution struct {
	name, version string
	about         string   // its .dist-info or .egg-info
	head, body    string   // of its metadata, without what it needs
	needs         []string // PEP 508
	record        []string // paths of its files; without a RECORD none
	tops          []string // modules and folders directly in the site
	tags          []string // of its WHEEL

	seeds []string // modules from where what it imports is looked for
}

// maxMetadata bounds a file that says something about a distribution, and a source file that is looked through.
const maxMetadata = 4 << 20

func openSite(dir string) (*site, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fileerr.Cause(err)
	}
	x := &site{
		dir: dir, root: root,
		dists: map[string]*distribution{}, broken: map[string]error{}, owners: map[string][]string{},
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err == nil && len(entries) > maxEntries {
		err = fmt.Errorf("it has %d files, and %d are the most that are looked at", len(entries), maxEntries)
	}
	if err != nil {
		return nil, errors.Join(fileerr.Cause(err), root.Close())
	}
	for _, e := range entries {
		x.names = append(x.names, e.Name())
		if ext := path.Ext(e.Name()); ext == ".dist-info" || ext == ".egg-info" {
			x.add(e.Name(), e.IsDir())
		}
	}
	stems := map[string]bool{}
	for _, name := range x.names {
		stem, _, _ := strings.Cut(name, ".")
		stems[stem] = true
	}
	for _, d := range x.dists { // which also name what was there when they were built
		d.tops = slices.DeleteFunc(d.tops, func(top string) bool { return !stems[top] })
		for _, top := range d.tops {
			x.owners[top] = append(x.owners[top], d.name)
		}
	}
	return x, nil
}

// add reads what is said about a distribution. Of one that has both, .dist-info comes first, and counts.
func (x *site) add(about string, isDir bool) {
	d, err := x.read(about, isDir)
	if err != nil {
		name, _, _ := strings.Cut(strings.TrimSuffix(about, path.Ext(about)), "-")
		x.broken[Normal(name)] = err
		return
	}
	switch other, twice := x.dists[d.name]; {
	case twice && path.Ext(other.about) == path.Ext(about):
		x.broken[d.name] = fmt.Errorf("it is there twice, as %q and %q", other.about, about)
	case !twice || path.Ext(about) == ".dist-info":
		x.dists[d.name] = d
	}
}

func (x *site) read(about string, isDir bool) (*distribution, error) {
	d := &distribution{about: about}
	meta := about
	if isDir {
		meta += "/METADATA"
		if path.Ext(about) == ".egg-info" {
			meta = about + "/PKG-INFO"
		}
	}
	text, err := x.text(meta)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", meta, err)
	}
	if err := d.parseMetadata(text); err != nil {
		return nil, fmt.Errorf("%q: %w", meta, err)
	}
	if !isDir {
		return d, nil
	}
	if text, err := x.text(about + "/requires.txt"); err == nil && path.Ext(about) == ".egg-info" {
		d.needs = append(d.needs, eggNeeds(text)...)
	}
	if text, err := x.text(about + "/WHEEL"); err == nil {
		for line := range strings.Lines(text) {
			if tag, ok := strings.CutPrefix(line, "Tag:"); ok {
				d.tags = append(d.tags, strings.TrimSpace(tag))
			}
		}
	}
	text, err = x.text(about + "/RECORD")
	switch {
	case err == nil:
		if err := d.parseRecord(text); err != nil {
			return nil, fmt.Errorf("its RECORD: %w", err)
		}
	case !fileerr.IsMissing(err):
		return nil, fmt.Errorf("its RECORD: %w", err)
	default:
		text, err = x.text(about + "/top_level.txt")
		if err == nil {
			d.tops = strings.Fields(text)
		}
	}
	d.tops = slices.DeleteFunc(d.tops, func(top string) bool { return !nameText().MatchString(strings.Trim(top, "_")) })
	return d, nil
}

func (x *site) text(name string) (string, error) {
	data, err := plainfile.ReadIn(x.root, name, maxMetadata)
	return string(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))), err
}

// parseMetadata reads the core metadata: the header fields, without what the distribution needs.
func (d *distribution) parseMetadata(text string) error {
	head, body, _ := strings.Cut(text, "\n\n")
	dropped := false
	for line := range strings.Lines(strings.TrimRight(head, "\n") + "\n") {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch folded := line[0] == ' ' || line[0] == '\t'; {
		case folded && dropped:
			continue
		case folded:
		case strings.EqualFold(key, "Requires-Dist"):
			d.needs, dropped = append(d.needs, value), true
			continue
		case strings.EqualFold(key, "Name") && d.name == "":
			d.name = value
		case strings.EqualFold(key, "Version") && d.version == "":
			d.version = value
		}
		dropped = false
		d.head += line
	}
	d.body = body
	if !nameText().MatchString(d.name) || !versionText().MatchString(d.version) || strings.Contains(d.version, "-") {
		return fmt.Errorf("it names no package and version: %.80q %.80q", d.name, d.version)
	}
	d.name = Normal(d.name)
	return nil
}

// eggNeeds are the requirements of an .egg-info, as far as they do not belong to an extra. A section names one, a
// marker behind a colon, or both.
func eggNeeds(text string) (needs []string) {
	marker, extra := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if inside, ok := strings.CutPrefix(line, "["); ok {
			var name string
			name, marker, _ = strings.Cut(strings.TrimSuffix(inside, "]"), ":")
			extra = name != ""
			continue
		}
		if line == "" || extra {
			continue
		}
		if marker != "" {
			line += "; " + marker
		}
		needs = append(needs, line)
	}
	return needs
}

// parseRecord keeps the paths of files. Their hashes are of what was there when the distribution was made; what has
// made a package of it, as Debian does, has changed the files since.
func (d *distribution) parseRecord(text string) error {
	tops := map[string]bool{}
	err := recordRows([]byte(text), func(row []string) {
		name := strings.Clone(row[0])
		top, _, inFolder := strings.Cut(name, "/")
		if !fs.ValidPath(name) || top == d.about || top == "__pycache__" || !inFolder && !importable(name) {
			return // of a program, or about it
		}
		d.record = append(d.record, name)
		if !inFolder {
			top, _, _ = strings.Cut(top, ".")
		}
		tops[top] = true
	})
	for top := range tops {
		d.tops = append(d.tops, top)
	}
	return err
}

func importable(name string) bool {
	return strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".so")
}

// find is the distribution of that name, or why it cannot be had.
func (x *site) find(name string) (*distribution, error) {
	if err := x.broken[name]; err != nil {
		return nil, fmt.Errorf("%q in %q cannot be taken: %w; nothing was added", name, x.dir, err)
	}
	if d := x.dists[name]; d != nil {
		return d, nil
	}
	advice := "names are those of distributions, as pip list has them"
	if owners := x.owners[name]; len(owners) > 0 {
		advice = fmt.Sprintf("the module %s is of %s", name, strings.Join(owners, ", "))
	}
	return nil, hint.New(fmt.Sprintf("no package %q is installed in %q; nothing was added", name, x.dir), advice)
}

// needed are the named distributions and those that they need, as far as they are installed there: by what they say,
// and by what their modules import at once, for Debian leaves out of the former what it sees to itself.
func (x *site) needed(ctx context.Context, names []string) (list []*distribution, err error) {
	edges := map[string]map[string]bool{} // names of what a distribution needs
	imports := imports{site: x, edges: edges}
	var todo []string
	for _, name := range names {
		d, err := x.find(name)
		if err != nil {
			return nil, err
		}
		d.seeds = x.modules(d)
		todo = append(todo, name)
	}
	seen := map[string]bool{}
	for len(todo) > 0 {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		name := todo[0]
		todo = todo[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		d, err := x.find(name)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
		if d.seeds == nil {
			d.seeds = d.tops
		}
		imports.from(d.seeds)
		for _, need := range d.needs {
			if named := Named(need); x.dists[named] != nil && !ofExtra(need) {
				imports.edge(name, named)
			}
		}
		for _, of := range edges { // what was imported by way of others, too
			for other := range of {
				todo = append(todo, other)
			}
		}
	}
	for _, d := range list {
		d.pin(x, edges[d.name])
	}
	slices.SortFunc(list, func(a, b *distribution) int {
		byAsked := slices.Index(names, b.name) - slices.Index(names, a.name) // what was asked for, then the others
		return cmp.Or(byAsked, strings.Compare(a.name, b.name))
	})
	return list, nil
}

// pin has a distribution need what it is installed with: that is what it has been built for and tried with, whatever
// else it says.
func (d *distribution) pin(x *site, needs map[string]bool) {
	said := map[string]bool{}
	for i, need := range d.needs {
		name := Named(need)
		if !needs[name] || ofExtra(need) {
			continue
		}
		said[name] = true
		_, marker, _ := strings.Cut(need, ";")
		if d.needs[i] = name + "==" + x.dists[name].version; marker != "" {
			d.needs[i] += ";" + marker
		}
	}
	for name := range needs {
		if !said[name] {
			d.needs = append(d.needs, name+"=="+x.dists[name].version)
		}
	}
	slices.Sort(d.needs)
}

// ofExtra tells whether a requirement is one of an extra.
func ofExtra(need string) bool {
	_, marker, _ := strings.Cut(need, ";")
	return strings.Contains(marker, "extra")
}
