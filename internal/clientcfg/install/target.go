package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
	"codemode/internal/fileerr"
	"codemode/internal/lazyregexp"
	"codemode/internal/plainfile"
)

// A Target is one file that codemode is put in.
type Target struct {
	Client   *clientcfg.Client
	Scope    clientcfg.Scope
	Path     string
	Detected bool // the client is here
	Notes    []string

	format splice.Format
	own    bool
	apart  bool     // codemode is not put where this one's servers are used
	prefix []string // stands before the command: the client runs elsewhere
	root   string   // of a project: its folder, in which no link is followed
}

// Targets are the files of a request. There is at least one, or an error.
func (i *Installer) Targets(req Request) ([]Target, error) {
	c := &req.Client
	if c.Install.None != "" {
		return nil, fmt.Errorf("%s: %s", c.Title, c.Install.None)
	}
	if req.Scope == clientcfg.Project {
		return i.projectTarget(c, req.Name)
	}
	if i.Env.Home == "" {
		return nil, fmt.Errorf("there is no home folder to find the files of %s in", c.Title)
	}
	env, prefix, notes := i.Env, []string(nil), slices.Clone(c.Install.Notes)
	if c.Install.WSL && i.inWSL() {
		windows, why := i.windows()
		if why != "" {
			return nil, fmt.Errorf("%s runs in Windows, and %s", c.Title, why)
		}
		env, prefix = windows, []string{"wsl.exe", "-d", i.get("WSL_DISTRO_NAME"), "--"}
		if exists(filepath.Join(i.Env.Home, ".vscode-server")) {
			notes = append(
				notes,
				"this is the file of Windows: windows that are connected to WSL read it, too, and the entry is for Windows",
			)
		}
	}
	all := candidates(c, env, req.Name)
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no file on this system", c.Title)
	}
	detected := i.detected(c, env, all)
	var targets []Target
	for _, p := range choose(c, all) {
		t := Target{
			Client: c, Scope: req.Scope, Path: p.path, Detected: detected, format: formatOf(c, p.path),
			own: p.place.Own, prefix: prefix, Notes: slices.Clone(notes),
		}
		if p.place.Note != "" {
			t.Notes = append(t.Notes, p.place.Note)
		}
		targets = append(targets, t)
	}
	return targets, nil
}

func (i *Installer) get(name string) string {
	if i.Env.Lookup == nil {
		return ""
	}
	v, _ := i.Env.Lookup(name)
	return v
}

// projectTarget is the file of the project around the working directory.
func (i *Installer) projectTarget(c *clientcfg.Client, name string) ([]Target, error) {
	root := i.Env.ProjectRoot()
	if root == "" {
		return nil, errNoProject
	}
	var first *Target
	for _, p := range c.Install.Places {
		if p.Scope != clientcfg.Project {
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(strings.ReplaceAll(p.Path, "{name}", name)))
		t := Target{
			Client: c, Scope: clientcfg.Project, Path: path, Detected: true, format: formatOf(c, path), own: p.Own,
			root: root,
		}
		if exists(path) {
			return []Target{t}, nil
		}
		if first == nil {
			first = &t
		}
	}
	if first == nil {
		return nil, fmt.Errorf("%s reads no file of a project", c.Title)
	}
	return []Target{*first}, nil
}

// candidate is a place on this machine.
type candidate struct {
	place clientcfg.Place
	path  string
	mark  string
	moved bool // by a variable that is set
}

// candidates are the user's places that this system has.
func candidates(c *clientcfg.Client, env clientcfg.Env, name string) (list []candidate) {
	for _, p := range c.Install.Places {
		if p.Scope != clientcfg.User || !p.On(env.OS) {
			continue
		}
		path := env.Expand(strings.ReplaceAll(p.Path, "{name}", name))
		if path == "" {
			continue
		}
		mark := filepath.Dir(path)
		if p.Mark != "" {
			mark = env.Expand(p.Mark)
		}
		moved := strings.HasPrefix(p.Path, "${") && !strings.Contains(p.Path, ":-")
		for _, found := range glob(path) {
			if strings.Contains(path, "*") {
				mark = filepath.Dir(found[:strings.IndexByte(path, '*')]) // the folder was there to be found
			}
			list = append(list, candidate{p, found, mark, moved})
		}
	}
	return list
}

// glob replaces an asterisk in a folder by what is there. The file itself need not be.
func glob(path string) []string {
	star := strings.IndexByte(path, '*')
	if star < 0 {
		return []string{path}
	}
	end := len(path)
	if n := strings.IndexAny(path[star:], `/\`); n >= 0 {
		end = star + n
	}
	dirs, _ := filepath.Glob(path[:end]) // the only error is a bad pattern
	for n := range dirs {
		dirs[n] += path[end:]
	}
	return dirs
}

// choose says which of its places a client means.
func choose(c *clientcfg.Client, all []candidate) []candidate {
	if all[0].moved || len(all) == 1 {
		return all[:1]
	}
	here := slices.DeleteFunc(slices.Clone(all), func(p candidate) bool { return !exists(p.mark) })
	if c.Install.Every && len(here) > 0 {
		return here
	}
	if !c.Install.Newest {
		isThere := func(p candidate) bool { return exists(p.path) }
		for _, better := range []func(candidate) bool{holdsServers(c), isThere} {
			if n := slices.IndexFunc(all, better); n >= 0 {
				return all[n : n+1]
			}
		}
	}
	if len(here) > 0 {
		return here[:1]
	}
	return all[:1]
}

// holdsServers says of a file whether it has the table of servers.
func holdsServers(c *clientcfg.Client) func(candidate) bool {
	return func(p candidate) bool {
		f, err := open(p.path)
		if err != nil || f.missing() || c.Install.Private {
			return false
		}
		doc, err := splice.Parse(f.data, formatOf(c, p.path))
		if err != nil {
			return false
		}
		_, ok := doc.Get(c.Key)
		return ok
	}
}

// detected says whether a client is here: by a file of its own, a mark, or a program.
func (i *Installer) detected(c *clientcfg.Client, env clientcfg.Env, all []candidate) bool {
	for _, p := range all {
		if exists(p.path) || p.mark != env.Home && exists(p.mark) {
			return true
		}
	}
	for _, mark := range c.Install.Marks {
		if path := env.Expand(mark); path != "" && exists(path) {
			return true
		}
	}
	return slices.ContainsFunc(c.Install.Programs, func(name string) bool { return i.lookPath(name) != "" })
}

// lookPath finds a program.
func (i *Installer) lookPath(name string) string {
	endings := []string{""}
	if i.Env.OS == "windows" {
		endings = []string{".exe", ".cmd", ".bat"}
	}
	for _, dir := range filepath.SplitList(i.get("PATH")) {
		for _, ending := range endings {
			file := filepath.Join(dir, name+ending)
			info, err := os.Stat(file)
			if err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() &&
				(i.Env.OS == "windows" || info.Mode()&0o111 != 0) {
				return file
			}
		}
	}
	return ""
}

func (i *Installer) inWSL() bool { return i.Env.OS == "linux" && i.get("WSL_DISTRO_NAME") != "" }

// windowsHome is what WSL appends to PATH of the folders of Windows' user, as of 2026-11.
var windowsHome = lazyregexp.New(`^(.*/mnt/[a-z]/Users/[^/]+)/AppData/`)

// windows is the machine that this WSL is in.
func (i *Installer) windows() (env clientcfg.Env, why string) {
	if i.get("WSL_INTEROP") == "" {
		return env, "from here no program of Windows can be started, so none can start this codemode"
	}
	for _, dir := range filepath.SplitList(i.get("PATH")) {
		if m := windowsHome().FindStringSubmatch(filepath.ToSlash(dir)); m != nil {
			return clientcfg.Env{OS: "windows", Home: m[1]}, ""
		}
	}
	return env, "its user's folder cannot be told: PATH names none below /mnt/c/Users"
}

// formatOf is how a client's file is written.
func formatOf(c *clientcfg.Client, path string) splice.Format {
	switch ext := filepath.Ext(path); {
	case ext == ".toml" && c.List:
		return splice.TOMLArray
	case ext == ".toml":
		return splice.TOML
	case c.List && (ext == ".yaml" || ext == ".yml"):
		return splice.YAMLList
	case ext == ".yaml", ext == ".yml":
		return splice.YAML
	case c.Strict:
		return splice.JSON
	}
	return splice.JSONC
}

func exists(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Lstat(path)
	return err == nil
}

// keyOf leads to the table of servers in one document of the client.
func keyOf(c *clientcfg.Client, doc *splice.Document) []string {
	_, has := doc.Get(c.Key)
	if c.Bare && !has && bare(doc) {
		return nil
	}
	if c.Entry == clientcfg.Argv &&
		!slices.Contains(c.Key, "servers") { // OpenCode 2 has mcp.servers.NAME, OpenCode 1 mcp.NAME
		inner := append(slices.Clone(c.Key), "servers")
		table, ok := doc.Get(inner)
		if servers, isTable := table.(map[string]any); ok && isTable && servers["type"] == nil {
			return inner
		}
	}
	return c.Key
}

// bare says whether a document is the table of servers itself, and has one at least.
func bare(doc *splice.Document) bool {
	root, _ := doc.Get(nil)
	table, _ := root.(map[string]any)
	for name, v := range table {
		entry, _ := v.(map[string]any)
		if name != "$schema" && entry["command"] == nil && entry["url"] == nil {
			return false
		}
	}
	return len(table) > 0
}

// file is what a target is at one moment.
type file struct {
	path  string // with links followed, but in a project
	root  string // the project's folder; empty is not in one
	data  []byte
	info  fs.FileInfo // nil: it is not there
	above []string    // folders that are missing, the outermost first
}

func (f file) missing() bool { return f.info == nil }

var (
	errReadOnly = errors.New("it is read-only")
	errTooLarge = fmt.Errorf("it is larger than %d MiB", splice.MaxSize>>20)
)

// open reads a target, and refuses what is no file to edit.
func (t Target) open() (file, error) {
	if t.root != "" {
		return openInProject(t.root, t.Path)
	}
	return open(t.Path)
}

// open reads a file of the user's, wherever links lead to it.
func open(path string) (file, error) {
	f := file{path: path}
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if f.path, err = filepath.EvalSymlinks(path); err != nil {
			to, _ := os.Readlink(path)
			if fileerr.IsMissing(err) {
				return f, fmt.Errorf("it is a symbolic link to %q, which is not there", to)
			}
			return f, fmt.Errorf("it is a symbolic link to %q, which leads nowhere", to)
		}
		info, err = os.Stat(f.path)
	} else if dir, errDir := filepath.EvalSymlinks(filepath.Dir(path)); errDir == nil {
		f.path = filepath.Join(dir, filepath.Base(path))
	}
	switch {
	case fileerr.IsMissing(err):
		return f, f.lookAbove()
	case err != nil:
		return f, fileerr.Cause(err)
	case info.IsDir():
		return f, fmt.Errorf("it is a directory")
	case !info.Mode().IsRegular():
		return f, fmt.Errorf("it is not a regular file")
	case info.Size() > splice.MaxSize:
		return f, errTooLarge
	case info.Mode()&0o200 == 0:
		return f, errReadOnly
	}
	f.info = info
	if f.data, err = plainfile.Read(f.path, splice.MaxSize); err != nil {
		return f, fileerr.Cause(err)
	}
	return f, nil
}

// lookAbove notes the folders to make for a file that is not there.
func (f *file) lookAbove() error {
	for dir := filepath.Dir(f.path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%q is not a directory", dir)
		case err == nil:
			slices.Reverse(f.above)
			return nil
		case !fileerr.IsMissing(err) || filepath.Dir(dir) == dir:
			return fileerr.Cause(err)
		}
		if link, errLink := os.Lstat(dir); errLink == nil && link.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%q is a symbolic link to nothing", dir)
		}
		f.above = append(f.above, dir)
	}
}
