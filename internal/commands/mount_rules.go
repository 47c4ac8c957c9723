package commands

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/fileerr"
	"codemode/internal/plainfile"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/container"
	"codemode/internal/sandbox/mount"
	"codemode/internal/sandbox/python"
	"codemode/internal/upstream"
)

// mountRules say what of the user's files code is not shown.
func (t *tenancy) mountRules() mount.Rules {
	homes := t.everyHome()
	kept := t.protected()
	for _, other := range t.withoutFlags(t.config.Tenants, t.env.Dir) {
		kept = append(kept, withLinks(append(other.config.Servers.Files, other.config.Servers.Dir))...)
	}
	for _, home := range homes {
		kept = append(kept, t.keptIn(home)...)
	}
	return mount.Rules{
		Homes: homes, Kept: kept, Credentials: t.credentials(), Out: t.inputs.out, Saved: t.inputs.saved,
		Trusted: t.trusted(),
		Bare:    t.config.Sandbox.Isolation == string(sandbox.IsolationReduced),
	}
}

// trusted are the folders of the user's, the links on the way to which are followed. To the working directory code may
// have made one since, where it may change a folder above.
func (t *tenancy) trusted() []string {
	list := append(t.everyHome(), t.paths.Config, t.paths.Cache, t.paths.State)
	if t.byLink {
		list = append(list, t.env.Dir)
	}
	return list
}

// everyHome are the homes of who has started codemode: HOME may be missing or another's, as with sudo, doas
// and pkexec.
func (t *tenancy) everyHome() (list []string) {
	home, _ := t.home()
	list = append(list, home)
	if u, err := user.Current(); err == nil {
		list = append(list, u.HomeDir)
	}
	for variable, find := range map[string]func(string) (*user.User, error){
		"SUDO_USER": user.Lookup, "DOAS_USER": user.Lookup, "PKEXEC_UID": user.LookupId,
	} {
		if who, ok := t.env.Lookup(variable); ok {
			if u, err := find(who); err == nil {
				list = append(list, u.HomeDir)
			}
		}
	}
	list = slices.DeleteFunc(list, func(dir string) bool { return !filepath.IsAbs(dir) })
	slices.Sort(list)
	return slices.Compact(list)
}

// keptIn is what codemode and clients keep in a home: the folders of clients' files, too, but no home.
func (t *tenancy) keptIn(home string) []string {
	inHome := func(name string) (string, bool) {
		return home, name == "HOME" || name == "USERPROFILE"
	}
	p := config.FindPaths(inHome, runtime.GOOS)
	list := []string{p.Config, p.Cache, p.State, filepath.Join(home, "MCPs")}
	m := t.machine()
	m.Home = home
	for _, name := range clientcfg.UserFiles(m) {
		list = append(list, name)
		dir := filepath.Dir(name)
		if rest, err := filepath.Rel(home, dir); err == nil && rest != "." && filepath.IsLocal(rest) {
			list = append(list, dir)
		}
	}
	return list
}

// starts are the paths from which something is started, for whichever tenant, here and in the projects whose servers it
// has approved.
func (t *tenancy) starts() (list []mount.Start) {
	list = append(t.hostStarts(), t.serverStarts()...)
	for _, other := range t.withoutFlags(t.config.Tenants, t.env.Dir) {
		other.look()
		list = append(list, other.hostStarts()...)
		list = append(list, other.serverStarts()...)
		standing := map[string][]clientcfg.Entry{} // by project
		for _, e := range other.approvals.Standing() {
			standing[e.Server.Project] = append(standing[e.Server.Project], e)
		}
		for _, project := range slices.Sorted(maps.Keys(standing)) {
			approved := standing[project]
			for _, there := range t.withoutFlags([]string{other.config.Tenant}, project) {
				there.look()
				list = append(list, there.serverStarts()...)
				approved = slices.DeleteFunc(approved, there.hasAsApproved)
			}
			list = append(list, other.lapsed(approved)...)
		}
	}
	return mount.Linked(list, t.everyHome())
}

// serverStarts are the paths from which servers are started. What came with a project and is not approved starts
// nothing, and would be a stranger's way to have code refused.
func (t *tenancy) serverStarts() (list []mount.Start) {
	t.judge()
	list = t.unread()
	for _, e := range t.found.Entries {
		theirs := e.Status == clientcfg.Invalid && e.Scope == clientcfg.Project
		if theirs || e.Status == clientcfg.NeedsApproval {
			continue
		}
		list = append(list, t.startsOf(e)...)
	}
	return list
}

// startsOf are the paths from which a server is started: its program, files among its arguments, folders that launchers
// are given, where it starts, and files that its entry refers to. A file need not be there: it may be made.
func (t *tenancy) startsOf(e clientcfg.Entry) (list []mount.Start) {
	s, by := e.Server, fmt.Sprintf("server %q", e.Server.Name)
	for _, path := range clientcfg.Files(s, t.machine()) {
		list = append(list, mount.Start{Path: path, By: by})
	}
	if e.Status == clientcfg.Invalid {
		return append(list, t.startsOfTexts(e)...)
	}
	if s.Transport != "" && s.Transport != config.Stdio || s.Command == "" {
		return list
	}
	if e.Status == clientcfg.Ready { // of others, not even what they refer to is read
		if full, err := t.expand(s, func(string, string) {}); err == nil {
			s = full
		}
		if env, err := upstream.Variables(s, t.env.Lookup); err == nil { // with an error it does not start
			s.Env = env
		}
	}
	home, _ := t.home()
	base := cmp.Or(s.Cwd, s.Project, home)
	add := func(path string, folder, within bool) {
		list = append(list, t.startsAt(fromHome(path, home), base, by, folder, within)...)
	}
	search := lookFrom(base, lookIn(t.env, cmp.Or(s.Env["PATH"], t.env.get("PATH"))))
	list = append(list, t.programs(by, search, s.Command)...)
	for _, arg := range s.Args { // what starts another has its name there: env NAME, sh -c "NAME …"
		list = append(list, t.programs(by, search, strings.FieldsFunc(arg, notInName)...)...)
	}
	program := s.Command
	if strings.ContainsRune(program, filepath.Separator) { // it may be yet to be made
		program = absolute(t.env, fromBase(base, program))
	}
	for _, path := range []string{program, s.Command, s.Cwd, s.EnvFile, s.Env["HOME"]} { // shells read files of a home
		add(path, true, false)
	}
	for _, path := range s.Args {
		add(path, false, false) // a folder may be data
		files, code := clientcfg.PathsWithin(path)
		for _, path := range files {
			add(path, false, false)
		}
		for _, path := range code {
			add(path, true, true)
		}
	}
	for _, path := range clientcfg.CodePaths(s.Command, s.Args, s.Env) {
		add(path, true, true)
		list = append(list, t.programs(by, search, path)...) // by its name in a variable, such as EDITOR
	}
	return append(list, t.imports(s, by, absolute(t.env, base))...)
}

// lookFrom is look where a program's path may begin at a folder.
func lookFrom(base string, look func(string) (string, error)) func(string) (string, error) {
	return func(name string) (string, error) {
		if strings.ContainsRune(name, filepath.Separator) {
			if found, err := look(fromBase(base, name)); err == nil {
				return found, nil
			}
		}
		return look(name)
	}
}

func fromBase(base, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}

// startsAt are the paths that a word of a server's entry is, if it is one: of a file, there or yet to be made, and of a
// folder where it may be one, or has code within. It is from base, but other clients start a server where they are.
func (t *tenancy) startsAt(word, base, by string, folder, within bool) (list []mount.Start) {
	list = t.startsAtPath(word, base, by, folder, within)
	if i := strings.IndexAny(word, "#["); i >= 0 { // of nix, an output's name is behind it; of uv, extras of a package
		list = append(list, t.startsAtPath(word[:i], base, by, folder, within)...)
	}
	return list
}

func (t *tenancy) startsAtPath(path, base, by string, folder, within bool) (list []mount.Start) {
	if path == "" {
		return nil
	}
	named := filepath.IsAbs(path) || clientcfg.IsScript(path) // by nothing else could it be a file's
	places := []string{path}
	if !filepath.IsAbs(path) {
		places = []string{absolute(t.env, filepath.Join(base, path)), absolute(t.env, path)}
	}
	for _, path := range places {
		fi, err := os.Stat(path)
		for _, end := range []string{".js", ".mjs", ".cjs"} { // which Node adds
			if other, e := os.Stat(path + end); err != nil && e == nil {
				path, fi, err = path+end, other, nil
			}
		}
		isDir := err == nil && fi.IsDir()
		if !filepath.IsAbs(path) || path == filepath.Dir(path) || err != nil && !named || isDir && !folder {
			continue
		}
		whole, links := within && isDir, filepath.Base(path) != "bin"
		list = append(list, mount.Start{Path: path, By: by, Within: whole, Links: whole && links})
		switch {
		case err != nil:
		case isDir && within: // launchers look for what they start in the folders above, too
			list = append(list, t.codeAround(filepath.Join(path, "any"), by)...)
		case !isDir && (clientcfg.IsScript(path) || fi.Mode()&0o111 != 0 || plainfile.Shebang(path) != nil ||
			filepath.Base(filepath.Dir(path)) == "bin" || // source venv/bin/activate
			within && slices.Contains(append(buildFiles, packageMarks...), filepath.Base(path))):
			list = append(list, t.codeAround(path, by)...)
		}
	}
	return list
}

// imports are where a server looks for code in the folder that it is started in.
func (t *tenancy) imports(s config.Server, by, from string) []mount.Start {
	kind, modules := clientcfg.ImportsFromCwd(s.Command, s.Args)
	switch kind {
	case clientcfg.WholeFolder:
		whole := !t.holdsHome(from)
		list := append(nodeModules(from, by), mount.Start{Path: from, By: by, Within: whole, Links: whole})
		return append(list, t.codeAround(filepath.Join(from, "any"), by)...)
	case clientcfg.PythonModules:
		by = fmt.Sprintf("%s, which imports from %q, where it is started (cwd),", by, from)
		list := []mount.Start{t.modules(from, by)}
		slices.Sort(modules)
		for _, name := range slices.Compact(modules) {
			if at := filepath.Join(from, name); isFolder(at) && !t.holdsHome(at) {
				list = append(list, mount.Start{Path: at, By: by, Within: true, Links: true})
			}
		}
		return list
	case clientcfg.NodeModules:
		return nodeModules(from, by)
	}
	return nil
}

// modules is a folder that Python imports from.
func (t *tenancy) modules(dir, by string) mount.Start {
	return mount.Start{Path: dir, By: by, Modules: true, Home: t.holdsHome(dir)}
}

// nodeModules are the folders in which Node looks for packages, from a folder on.
func nodeModules(from, by string) (list []mount.Start) {
	for ; ; from = filepath.Dir(from) {
		list = append(list, mount.Start{Path: filepath.Join(from, "node_modules"), By: by, Within: true, Links: true})
		if from == filepath.Dir(from) {
			return list
		}
	}
}

// packageMarks are what the folder of a package of code has in it.
var packageMarks = []string{
	"package.json", "pyproject.toml", "setup.py", "deno.json", "deno.jsonc", "go.mod", "Cargo.toml", "Gemfile",
	"composer.json", "node_modules", "pyvenv.cfg", "pom.xml", "build.gradle", "build.gradle.kts", "pixi.toml",
	"Pipfile", "Package.swift",
}

// buildFiles are of code in their folder, too, but may be of a folder with much else.
var buildFiles = []string{
	"Makefile", "makefile", "GNUmakefile", "justfile", "Taskfile.yml", "tsconfig.json", "fastmcp.json",
}

// codeAround are the folders of code that a program's file is of: that of its package, or of its installation, or the
// one that it lies in. A home is none; in one, Python imports by names.
func (t *tenancy) codeAround(file, by string) (list []mount.Start) {
	for _, file := range []string{file, plainfile.Resolve(file)} {
		if root, links := t.codeRoot(file); root != "" {
			list = append(list, mount.Start{Path: root, By: by, Within: true, Links: links})
		}
		for _, venv := range []string{filepath.Dir(file), filepath.Dir(filepath.Dir(file))} {
			if home := python.VenvHome(venv); filepath.IsAbs(home) { // of a copy no link leads to what it was made of
				root, _ := t.codeRoot(filepath.Join(home, filepath.Base(file)))
				list = append(list, mount.Start{Path: cmp.Or(root, home), By: by, Within: true})
			}
		}
		switch filepath.Ext(file) {
		case ".py":
			list = append(list, t.modules(filepath.Dir(file), by))
		case ".js", ".mjs", ".cjs", ".ts", ".mts":
			list = append(list, nodeModules(filepath.Dir(file), by)...)
		}
	}
	return list
}

// codeRoot is the folder that codeAround looks for; "" is none. What links in it lead to is code, too, unless programs
// of many packages are installed there.
func (t *tenancy) codeRoot(file string) (root string, links bool) {
	root = filepath.Dir(file)
	if t.holdsHome(root) {
		return "", false
	}
	for dir := root; !t.holdsHome(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		for _, mark := range packageMarks {
			if _, err := os.Lstat(filepath.Join(dir, mark)); err == nil {
				return dir, true
			}
		}
	}
	if filepath.Base(root) != "bin" {
		return root, true
	}
	if up := filepath.Dir(root); !t.holdsHome(up) {
		root = up
	}
	return root, false
}

// holdsHome tells whether a home is a folder or lies in it.
func (t *tenancy) holdsHome(dir string) bool {
	return slices.ContainsFunc(t.everyHome(), func(home string) bool {
		rest, err := filepath.Rel(dir, home)
		return err == nil && filepath.IsLocal(rest)
	})
}

// hostStarts are the paths from which other programs than servers are started: what PATH finds and variables name,
// codemode itself, the engines of its sandboxes, and an interpreter that is not the embedded one.
func (t *tenancy) hostStarts() (list []mount.Start) {
	for _, dir := range filepath.SplitList(t.env.get("PATH")) {
		list = append(list, mount.Start{Path: dir, By: "what your PATH finds", Within: true})
	}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		if dir := t.env.get(name); filepath.IsAbs(dir) {
			list = append(list, mount.Start{Path: dir, By: "what servers keep in your " + name})
		}
	}
	list = append(list, t.variableStarts()...)
	list = append(list, t.programs("codemode", lookPath(t.env), t.env.Self, t.env.Args[0])...)
	for _, engine := range []string{container.Podman, container.Docker, "kubectl", t.config.Sandbox.Runtime} {
		list = append(list, t.programs("the sandbox", lookPath(t.env), engine)...)
	}
	for _, path := range t.python(nil).Installation() {
		list = append(list, mount.Start{Path: path, By: "the Python of code", Within: true})
	}
	return list
}

// fromHome is a path of a shell's as that reads it, or one that is written as an address.
func fromHome(path, home string) string {
	if rest, ok := strings.CutPrefix(strings.TrimPrefix(path, "git+"), "file:"); ok {
		path = strings.TrimPrefix(rest, "//")
		if written, err := url.PathUnescape(path); err == nil {
			path = written
		}
	}
	path = strings.TrimPrefix(path, "path:") // nix's
	for _, begin := range []string{"~/", "$HOME/", "${HOME}/"} {
		if rest, ok := strings.CutPrefix(path, begin); ok {
			return filepath.Join(home, rest)
		}
	}
	return path
}

func notInName(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`;|&()<>=", r) }

// saveTo is the folder that --out names, for what code shows and leaves; "" is none.
func (t *tenancy) saveTo(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	real, err := t.follow(dir)
	if err == nil {
		rules := t.mountRules()
		rules.Starts = t.starts()
		err = rules.MayWrite(real)
	}
	if err != nil {
		return "", fmt.Errorf("using the folder --out %q: %w; nothing was run", dir, err)
	}
	t.inputs.saved = real
	return real, nil
}

// follow is where a path leads that the user typed to have something written there. In a project, or in a folder that
// code may change, a link is somebody else's choice: it is refused.
func (t *tenancy) follow(path string) (string, error) {
	return plainfile.Follow(filepath.Clean(absolute(t.env, path)), t.trusted())
}

// read reads the file that the user has named, through no link that follow refuses: what it has is told, in an error
// or to somebody else.
func (t *tenancy) read(typed string, limit int64) ([]byte, error) {
	return plainfile.ReadFollowed(absolute(t.env, typed), t.trusted(), limit)
}

// write writes the file that the user has named, through no link that follow refuses, nor one that has come into the
// way since. Half a file is none.
func (t *tenancy) write(typed string, from io.Reader, force bool, mode fs.FileMode) error {
	file, err := t.follow(typed)
	if err != nil {
		return fmt.Errorf("%w; nothing was written", err)
	}
	dir, err := plainfile.OpenFolder(filepath.Dir(file), 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	name, flags := filepath.Base(file), os.O_WRONLY|os.O_CREATE|os.O_EXCL
	if fi, err := dir.Lstat(name); force && err == nil {
		if !fi.Mode().IsRegular() {
			return errors.New("it is not a regular file; nothing was written") // to open a FIFO is to wait
		}
		flags = os.O_WRONLY | os.O_TRUNC
	}
	to, err := dir.OpenFile(name, flags, mode)
	switch {
	case errors.Is(err, fs.ErrExist):
		return &isThereError{"to write over it: --force"}
	case err != nil:
		return fileerr.Cause(err)
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		_ = dir.Remove(name)
	}
	return fileerr.Cause(err)
}
