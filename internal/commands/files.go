package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/mount"

	"codemode/internal/visible"
	"github.com/urfave/cli/v3"
)

// inputFlags are those of what one command gives to code, beside --mount, which is a setting.
func inputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{
			Name:  "file",
			Usage: "`FILE` that code sees in /workspace; can be repeated",
			Local: true,
		},
		&cli.StringSliceFlag{
			Name:  "env",
			Usage: "`NAME` of a variable of yours that code gets; can be repeated",
			Local: true,
		},
	}
}

// inputs is what one command gives to code.
type inputs struct {
	files []mount.Request
	env   []string // NAME=VALUE
	out   bool     // what code leaves is saved
	saved string   // the folder for that, and for images

	modules string // the folder in the sandbox that has the modules beside the program
}

// addModules adds the folder with the modules beside a program: a script's own, else where codemode was started, as
// python3 has it.
func (h *inputs) addModules(env Env, script string) {
	dir := modulesDir(env, script)
	w := mount.Request{Path: filepath.Clean(dir), Name: strings.ToValidUTF8(filepath.Base(dir), "_")}
	h.files = append(h.files, w)
	h.modules = path.Join(sandbox.WorkDir, w.Name)
}

// modulesDir is where python3 looks for modules first: beside the script, or where its user is.
func modulesDir(env Env, script string) string {
	if script == "" {
		return env.Dir
	}
	return filepath.Dir(absolute(env, script))
}

// readInputs reads inputFlags.
func readInputs(env Env, cmd *cli.Command) (h inputs, err error) {
	for _, name := range cmd.StringSlice("file") {
		if name == "" {
			return h, &usageError{"--file is empty", []string{"see: " + cmd.FullName() + " --help"}}
		}
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(env.Dir, path)
		}
		h.files = append(h.files, mount.Request{Path: filepath.Clean(path), Name: filepath.Base(path), File: true})
	}
	for _, name := range cmd.StringSlice("env") {
		value, err := variableValue(env, name)
		if err != nil {
			return h, err
		}
		h.env = append(h.env, name+"="+value)
	}
	return h, nil
}

// variablePattern is what a variable may be called that code gets.
var variablePattern = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variableValue is the value of a variable of --env, from the environment: a command line is visible to every user.
func variableValue(env Env, name string) (string, error) {
	if name, _, ok := strings.Cut(name, "="); ok {
		name = cut(name, maxName)
		return "", &usageError{
			"--env takes the name of a variable and no value, which other users of this machine could see",
			[]string{fmt.Sprintf("set it where codemode is started: %s=… codemode exec --env %s", name, name)},
		}
	}
	switch value, ok := env.Lookup(name); {
	case !variablePattern().MatchString(name):
		return "", &usageError{msg: "--env " + quote(name) + " is no name of a variable"}
	case isReserved(name):
		return "", &usageError{msg: "--env " + quote(name) + ": the sandbox has its own; nothing was run"}
	case !ok:
		return "", &usageError{msg: "--env " + quote(name) + ": there is no such variable; nothing was run"}
	default:
		return value, nil
	}
}

// isReserved tells whether a variable decides how the sandbox's Python starts, and where its folders are.
func isReserved(name string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return slices.Contains([]string{"PATH", "HOME", "TMPDIR", "LANG"}, name) ||
		slices.ContainsFunc([]string{"PYTHON", "LD_", "CODEMODE_"}, begins)
}

// mounts are what code is shown of the user's files: what the settings say, and what the command gives. It is asked
// for each sandbox, since folders come and go; what of them code does not see, or sees for want of a bound, is told
// when it is new, if to anybody.
func (t *tenancy) mounts() ([]sandbox.Mount, error) {
	list, refused, err := t.shown()
	if err == nil && t.unseen != nil {
		problems := t.secretsIn(list)
		if refused != nil {
			problems = append(problems, refused)
		}
		t.unseen(slices.DeleteFunc(problems, func(err error) bool {
			_, told := t.told.LoadOrStore(err.Error(), true)
			return told
		}))
	}
	return list, err
}

// shown are the mounts, and as the last of them the project's folder, where that is to be shown. Where it cannot be,
// code does without it, which refused says.
func (t *tenancy) shown() (list []sandbox.Mount, refused, err error) {
	requests := t.requests()
	w, ok := t.projectRequest()
	if ok && !slices.ContainsFunc(requests, func(r mount.Request) bool { return r.Path == w.Path }) {
		if list, refused = t.choose(append(slices.Clip(requests), w)); refused == nil {
			return list, nil, nil
		}
	}
	list, err = t.choose(requests)
	return list, refused, err
}

// projectRequest is the project's folder, where its user has said that code is to see it.
func (t *tenancy) projectRequest() (w mount.Request, ok bool) {
	f := t.config.Files
	switch {
	case f.Project:
		folders := config.ProjectFolders(t.env.Dir, t.paths.Home)
		if len(folders) == 0 {
			return w, false
		}
		w = mount.Request{Path: folders[len(folders)-1], Place: "files.project", Picked: true}
	case f.Request.File != "" && t.agreed(f.Request):
		w = mount.Request{Path: f.Request.Folder, Place: "files.project", Picked: true, Asked: true}
	default:
		return w, false
	}
	w.Name = strings.ToValidUTF8(filepath.Base(w.Path), "_")
	return w, true
}

// agreed tells whether the user has approved what a project's file asks for, by now.
func (t *tenancy) agreed(r config.Request) bool {
	file := t.approvalsFile()
	if file == "" {
		return false
	}
	a, err := clientcfg.LoadApprovals(file)
	return err == nil && a.Agreed(r)
}

func (t *tenancy) requests() []mount.Request {
	requests := slices.Clone(t.inputs.files)
	for _, m := range t.config.Files.Folders() {
		requests = append(requests, mount.Request{Path: m.Folder, Name: m.Name, Write: m.Write, Place: m.Place})
	}
	return requests
}

// shownRoots is roots, where the settings say so.
func (t *tenancy) shownRoots() func([]string) ([]sandbox.Mount, []string) {
	if !t.config.Files.Roots {
		return nil
	}
	return t.roots
}

// maxRoots is how many of a client's folders are looked at.
const maxRoots = 20

// roots are what code is shown of the client's folders: those that may be shown beside all else. Of the others it is
// told why.
func (t *tenancy) roots(paths []string) (mounts []sandbox.Mount, notes []string) {
	requests := t.requests()
	if w, ok := t.projectRequest(); ok {
		if _, err := t.choose(append(slices.Clip(requests), w)); err == nil {
			requests = append(requests, w)
		}
	}
	for _, path := range paths[:min(len(paths), maxRoots)] {
		w := mount.Request{Path: path, Name: filepath.Base(path), Picked: true, Asked: true}
		if slices.ContainsFunc(requests, func(r mount.Request) bool { return r.Path == w.Path }) {
			continue // code sees it already
		}
		list, err := t.choose(append(slices.Clip(requests), w))
		if err != nil {
			var refused *mount.RefusedError
			if errors.As(err, &refused) {
				err = refused.Err // without the path above
			}
			notes = append(notes, fmt.Sprintf("the client's folder %s is not shown to code: %v", quote(w.Name), err))
			continue
		}
		m := list[len(list)-1]
		requests, mounts = append(requests, w), append(mounts, m)
		inside := visible.Name(sandbox.WorkDir + "/" + w.Name)
		note := fmt.Sprintf("the client's folder %s is %s, to be read", quote(w.Name), inside)
		if n := len(m.Covered); n > 0 {
			note += fmt.Sprintf(", without %d that .gitignore names or that look like secrets", n)
		}
		notes = append(notes, note)
	}
	return mounts, notes
}

func (t *tenancy) choose(requests []mount.Request) ([]sandbox.Mount, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	rules := t.mountRules()
	if slices.ContainsFunc(requests, func(w mount.Request) bool { return w.Write }) {
		rules.Starts = t.starts()
	}
	mounts, err := rules.Choose(requests)
	var refused *mount.RefusedError
	if errors.As(err, &refused) && errors.Is(err, fs.ErrNotExist) {
		whole := refused.Request.Path + ":" + refused.Request.Name
		if isFolder(whole) {
			refused.Err = &colonError{refused.Err, whole, refused.Request.Name}
		}
	}
	return mounts, err
}

// colonError is a folder whose name has a colon, of which the end was taken for the name that code sees.
type colonError struct {
	error
	folder, name string
}

func (e *colonError) Unwrap() error { return e.error }

// Hint is how to write it.
func (e *colonError) Hint() []string {
	return []string{fmt.Sprintf("what follows the last colon is the name that code sees; for the folder %q, add one: %s",
		e.folder, hint.Word(e.folder+":"+e.name))}
}

// refusedMount is why a folder of the command line will never be shown. One that is missing may come, and one that is
// closed to its user may be opened again: code that may change it can close it.
func (t *tenancy) refusedMount() error {
	_, err := t.mounts()
	var refused *mount.RefusedError
	if errors.As(err, &refused) && refused.Request.Place == "" && !errors.Is(err, fs.ErrNotExist) &&
		!errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// sessionProblems are ownProblems, and what will keep each session from beginning, or is missing in it. A tenancy looks
// for them once.
func (t *tenancy) sessionProblems() []error {
	t.looked.Do(func() {
		mounts, refused, err := t.shown()
		if err != nil {
			t.unshown = []error{err}
			return
		}
		t.granted = mounts
		if refused != nil {
			t.unshown = []error{refused}
		}
		t.unshown = append(t.unshown, t.secretsIn(mounts)...)
	})
	return append(t.ownProblems(), t.unshown...)
}

// secrets are what of a server's entry no error and no log may say, and the variables that code gets.
func (t *tenancy) secrets(s config.Server) []string {
	list := clientcfg.Secrets(s)
	for _, variable := range t.inputs.env {
		_, value, _ := strings.Cut(variable, "=")
		list = append(list, value)
	}
	return list
}
