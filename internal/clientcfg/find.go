package clientcfg

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/config"
	"codemode/internal/fileerr"
	"codemode/internal/hint"
	"codemode/internal/plainfile"
)

// maxMatches bounds what one pattern can find.
const maxMatches = 200

// finder reads every file of the sources, each once.
type finder struct {
	opts     Options
	chosen   selection
	seen     map[string]bool // files read, with the key they were read under
	entries  []Entry
	problems []Problem
	blank    []string               // see Found
	folders  []string               // see Found
	overlaid map[string]fs.FileInfo // of the files of Options.Overlay that are there
	sure     int                    // of entries, those before the first file of the user's that is not known
	unsure   bool                   // there is such a file
	off      map[string][]switchOff // by client
	offThere map[string][]switchOff // by client: what the project's files say, which is so in the client alone

	placesOnly bool     // nothing is read
	places     []string // what would be
}

// Places are the files that Discover reads and the folders that it lists, and those it would if they were there.
func Places(opts Options) []string {
	f := &finder{opts: opts, seen: map[string]bool{}, placesOnly: true}
	f.chosen, _ = selectSources(opts.Sources)
	f.own()
	f.users()
	f.projects()
	return f.places
}

// own reads what codemode is told itself, which discovery.sources does not concern.
func (f *finder) own() {
	c := f.opts.Servers
	for _, name := range c.Files {
		f.read(&Client{ID: filesID, Key: mcpServers}, File{Scope: User}, nil, name, "")
		f.count()
	}
	// By name, because a TOML table has no order.
	byName := func(a, b config.Server) int { return cmp.Compare(a.Name, b.Name) }
	for _, s := range slices.SortedFunc(maps.Values(c.Own), byName) {
		f.configured(s, User)
	}
	f.folder(c.Dir)
	if c.Usual == "" || c.Usual == c.Dir {
		return
	}
	if _, err := os.Stat(c.Dir); err != nil {
		f.problems = append(
			f.problems,
			Problem{
				Client: folderID, File: c.Dir,
				Err: fmt.Errorf("MCP_BRIDGE_STATE_DIR names a folder that cannot be read: %w", fileerr.Cause(err)),
			},
		)
	}
	f.folder(c.Usual)
}

// configured takes a server from a config.toml, which config has read.
func (f *finder) configured(s config.Server, scope Scope) {
	e := Entry{Server: withTransport(s), Written: s.Name, Client: configID, Scope: scope, Line: s.Line, Status: Ready}
	if s.Cwd != s.Project {
		e.explicit = s.Cwd
	}
	f.entries = append(f.entries, e)
}

// folder reads ~/MCPs, which need not exist.
func (f *finder) folder(dir string) {
	if dir == "" {
		return
	}
	entries, err := os.ReadDir(dir)
	names, made := f.withOverlay(dir, entries)
	if err != nil && fileerr.IsMissing(err) {
		err = lost(dir)
	}
	if err != nil && !made {
		f.problems = append(
			f.problems,
			Problem{Client: folderID, File: dir, Err: fileerr.Cause(err), Unread: true, Restricts: true},
		)
		f.count()
	}
	for _, name := range names {
		f.read(&Client{ID: folderID, Key: mcpServers}, File{Scope: User}, nil, name, "")
		f.count()
	}
}

// withOverlay are the files of servers of a folder, and those that would be; made says whether there are such.
func (f *finder) withOverlay(dir string, entries []fs.DirEntry) (names []string, made bool) {
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".json" && !e.IsDir() {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	for name, text := range f.opts.Overlay {
		switch path := filepath.Join(dir, filepath.Base(name)); {
		case filepath.Dir(name) != dir && plainfile.Resolve(filepath.Dir(name)) != plainfile.Resolve(dir):
		case text == nil:
			names = slices.DeleteFunc(names, func(n string) bool { return n == path })
		default:
			names, made = append(names, name), true
		}
	}
	slices.Sort(names)
	return slices.Compact(names), made
}

// load reads a file, or has what would be in it, by whichever of its paths.
func (f *finder) load(root *os.Root, name, full string, named bool) ([]byte, error) {
	if len(f.opts.Overlay) == 0 {
		return load(root, name, named)
	}
	if data, ok := f.opts.Overlay[full]; ok {
		return data, nil
	}
	if f.overlaid == nil {
		f.overlaid = map[string]fs.FileInfo{}
		for path := range f.opts.Overlay {
			if fi, err := os.Stat(path); err == nil {
				f.overlaid[path] = fi
			}
		}
	}
	fi, err := os.Stat(full)
	for path, is := range f.overlaid {
		if err == nil && os.SameFile(fi, is) {
			return f.opts.Overlay[path], nil
		}
	}
	return load(root, name, named)
}

func withTransport(s config.Server) config.Server {
	switch {
	case s.Transport != "":
	case s.Command != "":
		s.Transport = config.Stdio
	default:
		s.Transport = config.HTTP
	}
	return s
}

// users reads the user's files of every client.
func (f *finder) users() {
	for i := range clients {
		c := &clients[i]
		found := false
		for _, place := range c.Files {
			if place.Scope == Project || !f.chosen.takes(c.ID, place.Scope) || !place.On(f.opts.Env.OS) ||
				place.Else && found {
				continue
			}
			for _, name := range f.matches(place) {
				found = f.read(c, place, nil, name, "") || found
				f.count()
			}
		}
	}
}

// Reads says whether a client has a file for one of the user's, by these variables.
func (e Env) Reads(path string) bool {
	f := &finder{opts: Options{Env: e}}
	is := func(name string) bool { return sameFile(name, path) }
	for _, c := range clients {
		for _, place := range c.Files {
			if place.Scope == User && place.On(e.OS) && slices.ContainsFunc(f.matches(place), is) {
				return true
			}
		}
	}
	return false
}

// plugins finds the files of plugins, which are not read.
func (f *finder) plugins() (all []Plugins) {
	for i := range clients {
		c := &clients[i]
		if c.Plugins == "" || !f.chosen.takes(c.ID, User) {
			continue
		}
		if files := f.matches(File{Path: c.Plugins}); len(files) > 0 {
			all = append(all, Plugins{c.Title, files})
		}
	}
	return all
}

// matches are the files that a place of the user's means on this machine.
func (f *finder) matches(place File) []string {
	star := strings.IndexByte(place.Path, '*')
	if star < 0 {
		if name := f.opts.Env.Expand(place.Path); name != "" {
			return []string{name}
		}
		return nil
	}
	slash := strings.LastIndexByte(place.Path[:star], '/')
	dir := f.opts.Env.Expand(place.Path[:slash])
	if dir == "" {
		return nil
	}
	names := glob(os.DirFS(dir), place.Path[slash+1:])
	for i := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(names[i]))
	}
	return names
}

// glob finds files by a pattern. A folder that cannot be listed is as none.
func glob(dir fs.FS, pattern string) []string {
	names, _ := fs.Glob(dir, pattern) // the only error is a bad pattern
	return names[:min(len(names), maxMatches)]
}

// projects reads the files that came with the project: those of the working directory, and of the folders
// above it up to the top of the repository.
func (f *finder) projects() {
	for _, s := range f.opts.Servers.Project {
		f.configured(s, Project)
	}
	for _, dir := range projectFolders(f.opts.Env) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue // it was there a moment ago
		}
		for i := range clients {
			c := &clients[i]
			if !f.chosen.takes(c.ID, Project) {
				continue
			}
			for _, place := range c.Files {
				if place.Scope == Project {
					f.project(c, place, root, dir)
				}
			}
		}
		root.Close()
	}
}

func (f *finder) project(c *Client, place File, root *os.Root, dir string) {
	names := []string{place.Path}
	if strings.Contains(place.Path, "*") {
		names = glob(root.FS(), place.Path)
	}
	for _, name := range names {
		f.read(c, place, root, name, dir)
	}
}

// projectFolders are the working directory and those above it up to the one that holds the repository, the
// innermost first. The home directory is nobody's project, whatever is above it neither.
func projectFolders(env Env) []string {
	if env.WorkDir == "" {
		return nil
	}
	var dirs []string
	for dir := filepath.Clean(env.WorkDir); ; dir = filepath.Dir(dir) {
		if env.Home != "" && (within(dir, filepath.Clean(env.Home)) || sameFile(dir, env.Home)) {
			break
		}
		dirs = append(dirs, dir)
		for _, mark := range []string{".git", ".hg", ".jj", ".svn"} {
			if _, err := os.Lstat(filepath.Join(dir, mark)); err == nil {
				return dirs
			}
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
	return dirs[:min(len(dirs), 1)] // no repository
}

// ProjectRoot is the folder of the project around the working directory: the repository's, else the working
// directory itself. It is empty where there is none.
func (e Env) ProjectRoot() string {
	dirs := projectFolders(e)
	if len(dirs) == 0 {
		return ""
	}
	return dirs[len(dirs)-1]
}

// within says whether inner is outer or below it, as they are written.
func within(outer, inner string) bool {
	rel, err := filepath.Rel(outer, inner)
	return err == nil && filepath.IsLocal(rel)
}

// sameFile knows a file or folder by another path, too.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// read reads one file, if it is there. root is the folder of the project that it came with.
func (f *finder) read(c *Client, place File, root *os.Root, name, project string) bool {
	full := name
	if root != nil {
		full = filepath.Join(project, filepath.FromSlash(name))
	}
	key := c.Key
	if place.Key != nil {
		key = place.Key
	}
	mark := filepath.Clean(full) + "\x00" + strings.Join(key, "\x00")
	if f.placesOnly {
		f.places = append(f.places, full)
		return false // so that what is read where this is not is a place, too
	}
	named := c.ID == filesID
	if f.seen[mark] && !named {
		return true
	}
	data, err := f.load(root, name, full, named)
	if err != nil && fileerr.IsMissing(err) && !named {
		if err = lost(full); root != nil || err == nil {
			return false
		}
	}
	f.seen[mark] = true
	if err != nil {
		unread := place.Scope != Project
		f.problems = append(
			f.problems,
			Problem{Client: c.ID, File: full, Err: fileerr.Cause(err), Unread: unread, Restricts: unread},
		)
		return true
	}
	r := &file{client: c, scope: place.Scope, key: key, path: full, project: project, env: &f.opts.Env}
	r.parse(data)
	if r.noTable {
		delete(f.seen, mark) // another client may find servers in it
	}
	if f.entries == nil {
		f.entries = r.entries
	} else {
		f.entries = append(f.entries, r.entries...)
	}
	f.problems = append(f.problems, r.problems...)
	if place.Scope != Project && r.blank {
		f.blank = append(f.blank, full)
	}
	f.folders = append(f.folders, r.folders...)
	off := f.off
	if place.Scope == Project { // a stranger's file switches nothing off here
		off = f.offThere
	}
	off[c.ID] = append(off[c.ID], r.off...)
	return true
}

// lost is why a file or folder that is not found may have been there; nil where nothing says so.
func lost(path string) error {
	if link := DanglingLink(path); link != "" {
		return fmt.Errorf("%q is a link to nothing", link)
	}
	if _, err := os.Lstat(path); err == nil {
		return errors.New("it is no folder")
	}
	return nil
}

// DanglingLink is the link on the way to a file that leads to nothing; empty is none.
func DanglingLink(file string) string {
	for filepath.IsAbs(file) && file != filepath.Dir(file) {
		if fi, err := os.Lstat(file); err == nil {
			if _, err := os.Stat(file); err != nil && fi.Mode()&fs.ModeSymlink != 0 {
				return file
			}
			return ""
		}
		file = filepath.Dir(file)
	}
	return ""
}

// selection is what discovery.sources says.
type selection struct {
	all, none    bool
	names, minus map[string]bool
}

// selectSources reads discovery.sources. Names that do not exist are returned; they select nothing.
func selectSources(names []string) (s selection, unknown []string) {
	s = selection{names: map[string]bool{}, minus: map[string]bool{}}
	some := false
	for _, name := range names {
		name, minus := strings.CutPrefix(strings.ToLower(strings.TrimSpace(name)), "-")
		some = some || !minus && name != ""
		switch {
		case name == "":
		case name == AllSources && !minus:
			s.all = true
		case name == NoSources && !minus:
			s.none = true
		case name != ProjectSources && !slices.ContainsFunc(clients, func(c Client) bool { return c.ID == name }):
			unknown = append(unknown, name)
		case minus:
			s.minus[name] = true
		default:
			s.names[name] = true
		}
	}
	s.all = s.all || !some
	return s, unknown
}

// takes says whether a client's files of a scope are read.
func (s selection) takes(id string, scope Scope) bool {
	switch {
	case s.none, s.minus[id], scope == Project && s.minus[ProjectSources]:
		return false
	case s.all, s.names[id]:
		return true
	}
	return scope == Project && s.names[ProjectSources]
}

// CheckSources says which of the names for discovery.sources do not exist.
func CheckSources(names []string) error {
	if _, unknown := selectSources(names); len(unknown) > 0 {
		return &UnknownSourceError{Name: unknown[0]}
	}
	return nil
}

// An UnknownSourceError is a name in discovery.sources that no source has.
type UnknownSourceError struct{ Name string }

func (e *UnknownSourceError) Error() string {
	return fmt.Sprintf("%q is no source of MCP servers", e.Name)
}

// Hint is the source that was meant, or those there are.
func (e *UnknownSourceError) Hint() []string {
	var names []string
	for _, s := range Sources() {
		names = append(names, s.Name)
	}
	return hint.NearestOrAll(e.Name, names)
}

// UserFiles are the places of the user's where clients look for servers, whether anything is there or not. Of a pattern
// it is the folder in which that begins.
func UserFiles(env Env) (list []string) {
	for _, c := range Clients() {
		for _, f := range c.Files {
			name := env.Expand(f.Path)
			if f.Scope == Project || !f.On(env.OS) || name == "" {
				continue
			}
			if i := strings.IndexAny(name, "*?["); i >= 0 {
				name = filepath.Dir(name[:i] + "x")
			}
			list = append(list, name)
		}
	}
	return list
}
