package helper

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const self = "/proc/self/exe"

// A program is a helper that was found, and may be executed as long as it is what it was.
type program struct {
	file *os.File
	unix.Stat_t
}

// chosen is the helper, or why there is none.
var chosen = sync.OnceValues(func() (*program, error) {
	exe, err := os.Executable() // with links resolved
	if err != nil {
		return nil, err
	}
	var own unix.Stat_t
	if err := unix.Stat(self, &own); err != nil {
		return nil, &os.PathError{Op: "stat", Path: self, Err: err}
	}
	build, _ := debug.ReadBuildInfo() // nil is of no known build
	return find(filepath.Join(filepath.Dir(exe), Name), &own, build)
})

// ErrAbsent is why a codemode that was installed alone executes itself.
var ErrAbsent = errors.New("there is no " + Name + " beside it")

// find opens a helper that a codemode with these properties may execute.
func find(name string, own *unix.Stat_t, build *debug.BuildInfo) (*program, error) {
	// A FIFO would be waited for.
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, ErrAbsent
	case errors.Is(err, unix.ELOOP):
		return nil, errors.New(Name + " is a link")
	case err != nil:
		return nil, fmt.Errorf("opening %s: %w", Name, err)
	}
	p := &program{file: os.NewFile(uintptr(fd), name)}
	if err := p.judge(own, build); err != nil {
		p.file.Close()
		return nil, err
	}
	return p, nil
}

// judge tells why the helper is not to be executed.
func (p *program) judge(own *unix.Stat_t, build *debug.BuildInfo) error {
	if err := unix.Fstat(int(p.file.Fd()), &p.Stat_t); err != nil {
		return err
	}
	switch {
	case p.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New(Name + " is no regular file")
	case p.Uid != own.Uid && p.Uid != 0:
		return errors.New(Name + " is neither root's nor of codemode's owner")
	case p.Mode&^own.Mode&0o022 != 0:
		return errors.New("more users can write to " + Name + " than to codemode")
	case p.Mode&(unix.S_ISUID|unix.S_ISGID) != 0:
		return errors.New(Name + " has a set-id bit")
	case own.Mode&^p.Mode&0o111 != 0:
		return errors.New("fewer users can execute " + Name + " than codemode")
	case build == nil || !isKnown(build):
		return errors.New("this codemode is not of a commit alone, and no tag says of which build it is")
	}
	info, err := buildinfo.Read(p.file)
	if err != nil {
		return fmt.Errorf("%s is no program of Go: %w", Name, err)
	}
	if info.GoVersion != build.GoVersion || info.Main != build.Main || !slices.Equal(info.Settings, build.Settings) {
		return errors.New(Name + " is of another build")
	}
	return nil
}

// isKnown tells whether programs that say the same of their build are of the same source: a version of the module, a
// commit without changes, or what whoever has built them vouches for by a tag, as "-tags build.1.2".
func isKnown(build *debug.BuildInfo) bool {
	return build.Main.Sum != "" || slices.ContainsFunc(build.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "vcs.modified" && s.Value == "false" ||
			s.Key == "-tags" && strings.Contains(","+s.Value, ",build.")
	})
}

// usable is the helper, unless something else was written into its file since it was chosen. What is installed in its
// place is another file.
func usable() (*program, error) {
	p, err := chosen()
	if err != nil {
		return nil, err
	}
	return p, p.isWritten()
}

// isWritten tells of a helper whose file was written to.
func (p *program) isWritten() error {
	var now unix.Stat_t
	if err := unix.Fstat(int(p.file.Fd()), &now); err != nil {
		return err
	}
	if now.Mtim != p.Mtim || now.Size != p.Size {
		return errors.New(Name + " was written to while codemode ran")
	}
	return nil
}

// Refused is why codemode executes itself; nil where it executes the helper.
func Refused() error {
	_, err := usable()
	return err
}

// Execute sets which program cmd executes, by a descriptor at the end of those that cmd hands down: any other can be
// overwritten in the child before it executes something. So the caller does it last.
func Execute(cmd *exec.Cmd) {
	p, err := usable()
	if err != nil {
		cmd.Path = self
		return
	}
	cmd.Path = "/proc/self/fd/" + strconv.Itoa(3+len(cmd.ExtraFiles))
	cmd.ExtraFiles = append(cmd.ExtraFiles, p.file)
}

// Open opens what Execute would execute, for another program to do so. The caller closes it.
func Open() (*os.File, error) {
	p, err := usable()
	if err != nil {
		return os.Open(self)
	}
	return os.Open("/proc/self/fd/" + strconv.Itoa(int(p.file.Fd())))
}
