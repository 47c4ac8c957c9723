// Package mount decides which files and folders of the user's a guest may be shown. What decides about codemode or an
// AI client, what holds credentials, and what is the system's own is shown to none, whoever asks.
//
// It only looks; what it has chosen is mounted by the runtimes, which hold it to be what it was.
package mount

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"codemode/internal/fileerr"
	"codemode/internal/hint"
	"codemode/internal/sandbox"
)

// A Wish is a file or folder as the user has asked for it.
type Wish struct {
	Path  string // absolute
	Name  string // in sandbox.WorkDir
	File  bool   // it is to be a file
	Write bool
}

// Rules say what nobody is shown.
type Rules struct {
	Home string   // the user's, of which no more than a part is shown; "" is unknown
	Kept []string // files and folders that decide about codemode or a client, there or not
	Out  bool     // code has a sandbox.OutDir
}

// maxMounts is more than anybody gives; each costs a start a little.
const maxMounts = 100

// Choose judges wishes, in their order.
func (r Rules) Choose(wishes []Wish) ([]sandbox.Mount, error) {
	if len(wishes) > maxMounts {
		return nil, fmt.Errorf("%d files and folders are more than the %d that code can be shown", len(wishes), maxMounts)
	}
	names := map[string]string{}
	if r.Out {
		names[path.Base(sandbox.OutDir)] = "what --out saves"
	}
	list := make([]sandbox.Mount, 0, len(wishes))
	for _, w := range wishes {
		real, err := r.choose(w)
		if err != nil {
			return nil, &RefusedError{w, err}
		}
		if first, taken := names[w.Name]; taken {
			return nil, &RefusedError{w, &nameError{w, first}}
		}
		names[w.Name] = w.Path
		list = append(list, sandbox.Mount{Host: real, Name: w.Name, Dir: !w.File, Write: w.Write})
	}
	return list, nil
}

// choose follows the links of a requested path, and says why it is refused.
func (r Rules) choose(w Wish) (string, error) {
	real, err := filepath.EvalSymlinks(w.Path)
	if err != nil {
		return "", fileerr.Cause(err)
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
	f, err := os.Open(real)
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

// RefusedError is a requested path that is refused.
type RefusedError struct {
	Wish Wish
	Err  error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%q cannot be shown to code, and nothing runs without it: %v", e.Wish.Path, e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// Hint is what the reason says, in whose place another may be had.
func (e *RefusedError) Hint() []string { return hint.Of(e.Err) }

// nameError is a name that two of the mounts would have.
type nameError struct {
	wish  Wish
	first string
}

func (e *nameError) Error() string {
	return fmt.Sprintf("%s/%s is %q already", sandbox.WorkDir, e.wish.Name, e.first)
}

// Hint is how a folder gets another name; a file has its own.
func (e *nameError) Hint() []string {
	if e.wish.File {
		return []string{"give one of the two another name, or mount its folder by --mount DIR:NAME"}
	}
	return []string{"give it a name of its own: --mount " + hint.Word(e.wish.Path+":NAME")}
}
