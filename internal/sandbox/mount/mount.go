// Package mount decides which files and folders of the user's a guest may be shown. What decides about codemode or an
// AI client, what holds credentials, and what is the system's own is shown to none, even if the user asks.
//
// It only looks; what it has chosen is mounted by the runtimes, which hold it to be what it was. Nothing needs
// closing.
package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"codemode/internal/fileerr"
	"codemode/internal/hint"
	"codemode/internal/plainfile"
	"codemode/internal/sandbox"
)

// A Request is a file or folder as the user has asked for it.
type Request struct {
	Path  string // absolute
	Name  string // in sandbox.WorkDir
	File  bool   // it is to be a file
	Write bool
	Place string // the setting that says so; "" is none

	// Asked says that somebody other than the user has named it. Where not all of it can be looked through for what is
	// to be covered, they do not get it.
	Asked bool

	// Picked says that the user has not named it by itself: it is whichever a project or a client has. What .gitignore
	// files name is left out of it wherever it lies, it is no folder of secrets nor in one, and code runs without it
	// where it is refused.
	Picked bool
}

// Rules say what nobody is shown.
type Rules struct {
	Homes       []string // of which no more than a part is shown
	Kept        []string // files and folders that decide about codemode or a client, there or not
	Credentials []string // files and folders of them outside of homes
	Starts      []Start
	Out         bool   // code has a sandbox.OutDir
	Saved       string // the folder to which what code leaves or shows is saved; "" is none
	Bare        bool   // nothing can be covered

	// Trusted are folders whose paths may lead through links, as may those of the folders above: where the user is,
	// and homes. Code may have made the links of others, when it could change the folder that they are in.
	Trusted []string
}

// A Start is a path from which something is started, there or yet to be made. The links on the way to it count.
type Start struct {
	Path   string
	By     string // what is started, or starts
	Within bool   // it is a folder with code in it, or below

	// Why is the whole reason where nothing is started now, but would be, and Do what can be done about that.
	Why, Do string

	// Modules says that a folder directly in it is code, with all below, where it can be a module by its name.
	Modules bool

	// Home says of one with Modules that a home is in it: of folders that only could be modules, what is below is none.
	Home bool

	// Links says that what links in it lead to is code, too, which Linked adds.
	Links bool
}

// maxMounts is more than anybody gives; each costs a start a little.
const maxMounts = 100

// Choose judges requests, in their order.
func (r Rules) Choose(requests []Request) ([]sandbox.Mount, error) {
	if len(requests) > maxMounts {
		return nil, fmt.Errorf("%d files and folders: code can be shown %d at most", len(requests), maxMounts)
	}
	names := map[string]string{}
	if r.Out {
		names[path.Base(sandbox.OutDir)] = "what --out saves"
	}
	list := make([]sandbox.Mount, 0, len(requests))
	for _, w := range requests {
		real, err := r.choose(w)
		if err != nil {
			return nil, &RefusedError{w, err}
		}
		if first, taken := names[w.Name]; taken {
			return nil, &RefusedError{w, &nameError{w, first}}
		}
		names[w.Name] = w.Path
		m := sandbox.Mount{Host: real, Name: w.Name, Dir: !w.File, Write: w.Write}
		if m.Dir {
			m.Covered, m.Partly, err = look(real, w.Picked, most) // what of it code is to see is named by itself
			if err == nil {
				err = r.asked(w, m)
			}
			if err != nil {
				return nil, &RefusedError{w, err}
			}
		}
		list = append(list, m)
	}
	for i, m := range list {
		if err := r.inside(m.Host, list, i); err != nil {
			return nil, &RefusedError{requests[i], err}
		}
	}
	return list, r.apart(list)
}

// asked refuses what somebody other than the user has asked for, where code would see what they should not give.
func (r Rules) asked(w Request, m sandbox.Mount) error {
	switch {
	case !w.Asked:
		return nil
	case m.Partly != "":
		return hint.New(m.Partly, "name a smaller one")
	case r.Bare && len(m.Covered) > 0:
		return fmt.Errorf("%q is in it, which here cannot be left out", m.Covered[0].Path)
	}
	return nil
}

// inside refuses what lies in another folder that code may change: code would choose what is there.
func (r Rules) inside(real string, list []sandbox.Mount, self int) error {
	seen := files{}
	for i, m := range list {
		if i != self && m.Write && seen.holds(m.Host, real) {
			return hint.New(fmt.Sprintf("it is in %q, which code may change", m.Host), "give code one of the two")
		}
	}
	return nil
}

// apart refuses a folder to save to that holds what code may change, or lies there.
func (r Rules) apart(list []sandbox.Mount) error {
	seen := files{}
	for _, m := range list {
		if r.Saved != "" && m.Write && seen.related(m.Host, r.Saved) {
			return hint.New(
				fmt.Sprintf("--out %q and %q, which code may change, are not apart; nothing was run", r.Saved, m.Host),
				"name another folder for --out, apart from that",
			)
		}
	}
	return nil
}

// choose follows a requested path, and says why it is refused.
func (r Rules) choose(w Request) (string, error) {
	real, err := plainfile.Follow(w.Path, r.Trusted)
	if err != nil {
		return "", err
	}
	fi, err := os.Stat(real)
	switch {
	case err != nil:
		return "", fileerr.Cause(err)
	case w.File && fi.IsDir():
		return "", hint.New("it is a folder", "to show it to code: --mount "+hint.Word(w.Path))
	case w.File && !fi.Mode().IsRegular():
		return "", hint.New("it is "+kindOf(fi.Mode())+", not a regular file",
			"what is read once can be the program's standard input")
	case !w.File && !fi.IsDir():
		return "", hint.New("it is no folder", "to show a file to code: --file "+hint.Word(w.Path))
	}
	if err := r.judge(real, w.Write); err != nil {
		return "", err
	}
	if name := secretFolder(real); w.Picked && name != "" {
		return "", hint.New(fmt.Sprintf("folders called %q hold secrets", name), nameIt(real))
	}
	f, err := os.Open(real)
	if errors.Is(err, fs.ErrPermission) && !w.File { // code that may change it can close it to its user
		return "", &closedError{fileerr.Cause(err), real}
	}
	if err != nil {
		return "", fileerr.Cause(err)
	}
	return real, f.Close()
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// closedError is a folder that its user may not read.
type closedError struct {
	error
	path string
}

func (e *closedError) Unwrap() error { return e.error }

// Hint is how they may.
func (e *closedError) Hint() []string {
	return []string{"if it is yours: chmod u+rwx " + hint.Word(e.path)}
}

// RefusedError is a requested path that is refused.
type RefusedError struct {
	Request Request
	Err     error
}

func (e *RefusedError) Error() string {
	then := "and nothing runs without it"
	if e.Request.Picked {
		then = "which runs without it"
	}
	text := fmt.Sprintf("%q cannot be shown to code, %s: %v", e.Request.Path, then, e.Err)
	if e.Request.Place != "" {
		text = e.Request.Place + ": " + text
	}
	return text
}

func (e *RefusedError) Unwrap() error { return e.Err }

// Hint is what the reason says, in whose place another may be had.
func (e *RefusedError) Hint() []string { return hint.Of(e.Err) }

// nameError is a name that two of the mounts would have.
type nameError struct {
	request Request
	first   string
}

func (e *nameError) Error() string {
	return fmt.Sprintf("%s/%s is %q already", sandbox.WorkDir, e.request.Name, e.first)
}

// Hint is how a folder gets another name; a file has its own.
func (e *nameError) Hint() []string {
	if e.request.File {
		return []string{"give one of the two another name, or mount its folder by --mount DIR:NAME"}
	}
	return []string{"give it a name of its own: --mount " + hint.Word(e.request.Path+":NAME")}
}
