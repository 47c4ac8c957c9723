package commands

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/fileerr"
	"codemode/internal/plainfile"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/mount"
)

// mountRules say what of the user's files code is not shown.
func (t *tenancy) mountRules() mount.Rules {
	homes := t.everyHome()
	kept := t.protected()
	for _, home := range homes {
		kept = append(kept, t.keptIn(home)...)
	}
	return mount.Rules{
		Homes: homes, Kept: kept, Out: t.inputs.out, Saved: t.inputs.saved,
		Trusted: append(homes, t.env.Dir, t.paths.Config),
		Bare:    t.config.Sandbox.Isolation == string(sandbox.IsolationReduced),
	}
}

// everyHome are the homes of who has started codemode: HOME may be missing or another's, as with sudo.
func (t *tenancy) everyHome() (list []string) {
	home, _ := t.home()
	list = append(list, home)
	if u, err := user.Current(); err == nil {
		list = append(list, u.HomeDir)
	}
	if name, ok := t.env.Lookup("SUDO_USER"); ok {
		if u, err := user.Lookup(name); err == nil {
			list = append(list, u.HomeDir)
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

// starts are the paths from which servers are started: their programs, files among their arguments, folders that
// launchers are given, where they start, and their files of variables. A file need not be there: it may be made.
func (t *tenancy) starts() (list []mount.Start) {
	t.judge()
	for _, e := range t.found.Entries {
		s := e.Server
		if s.Transport != "" && s.Transport != config.Stdio || s.Command == "" {
			continue
		}
		if e.Status == clientcfg.Ready { // of others, not even what they refer to is read
			if full, err := t.expand(s, func(string, string) {}); err == nil {
				s = full
			}
		}
		base := cmp.Or(s.Cwd, s.Project)
		add := func(path string, folder, within bool) {
			if path == "" {
				return
			}
			named := filepath.IsAbs(path) || clientcfg.IsScript(path) // by nothing else could it be a file's
			if !filepath.IsAbs(path) {
				path = absolute(t.env, filepath.Join(base, path))
			}
			fi, err := os.Stat(path)
			isDir := err == nil && fi.IsDir()
			if !filepath.IsAbs(path) || path == filepath.Dir(path) || err != nil && !named || isDir && !folder {
				return
			}
			list = append(list, mount.Start{Path: path, Server: s.Name, Within: within && isDir})
		}
		for _, path := range []string{s.Command, s.Cwd, s.EnvFile, s.Env["HOME"]} { // shells read files of a home
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
		}
	}
	return list
}

// saveTo is the folder that --out names, for what code shows and leaves; "" is none.
func (t *tenancy) saveTo(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	real, err := t.follow(dir)
	if err != nil {
		return "", fmt.Errorf("using the folder --out %q: %w; nothing was run", dir, err)
	}
	t.inputs.saved = real
	return real, nil
}

// follow is where a path leads that the user typed to have something written there. In a project, or in a folder that
// code may change, a link is somebody else's choice: it is refused.
func (t *tenancy) follow(path string) (string, error) {
	return t.mountRules().Follow(filepath.Clean(absolute(t.env, path)))
}

// read reads the file that the user has named, through no link that follow refuses: what it has is told, in an error
// or to somebody else.
func (t *tenancy) read(typed string, limit int64) ([]byte, error) {
	file, err := t.follow(typed)
	if err != nil {
		return nil, err
	}
	dir, err := plainfile.OpenFolder(filepath.Dir(file), 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return plainfile.ReadIn(dir, filepath.Base(file), limit)
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
