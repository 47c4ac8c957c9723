package stage2

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// exitFailed is the exit status of a second stage that gave up; its parent reads the reason.
const exitFailed = 125

func init() {
	if !invoked(os.Args) {
		return
	}
	// Privileges, Landlock and seccomp are a thread's own, and the one that calls execve is the guest.
	runtime.LockOSThread()
	err := run()
	report(err)
	os.Exit(exitFailed)
}

// invoked tells whether args are those of a second stage. Through bwrap the executable is a descriptor
// and cannot be given a name.
func invoked(args []string) bool {
	switch len(args) {
	case 1:
		return args[0] == Name
	case 2:
		return args[1] == Name && strings.HasPrefix(args[0], "/proc/self/fd/")
	}
	return false
}

// A stepError is an error of a named step.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// step names what err stopped.
func step(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &stepError{fmt.Sprintf(format, args...), err}
}

// run does every step in order and ends in execve.
func run() error {
	c, files, err := readConfig()
	if err != nil {
		return err
	}
	if err := c.place(files); err != nil {
		return err
	}
	yieldMemory()
	if err := c.root(); err != nil {
		return err
	}
	if err := step(unix.Chdir(c.Dir), "entering %q", c.Dir); err != nil {
		return err
	}
	if err := dropPrivileges(c.DropBounds); err != nil {
		return err
	}
	if err := restrictPaths(c.Landlock, c.RequireLandlock); err != nil {
		return err
	}
	// Go leaves descriptors open that its own parent had left open.
	if err := step(
		unix.CloseRange(uint(c.Keep), ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC), "closing descriptors",
	); err != nil {
		return err
	}
	if err := c.setInherited(); err != nil {
		return err
	}
	if err := setLimits([]Limit{coreLimit}); err != nil {
		return err
	}
	if len(c.AskThreads) > 0 {
		if err := sendListener(c.AskThreads); err != nil {
			return err
		}
	}
	if _, err := installFilter(c.Filter, 0); err != nil {
		return err
	}
	// Last, because some would hurt the Go runtime; the filter allows them.
	if err := setLimits(c.Limits); err != nil {
		return err
	}
	// An end of the answer without this byte is a second stage that was killed.
	if _, err := unix.Write(ControlFD, []byte{Ready}); err != nil {
		return step(err, "telling the parent")
	}
	env := make([]string, len(c.Env))
	for i, v := range c.Env {
		env[i] = string(v)
	}
	return step(syscall.Exec(c.Path, c.Argv, env), "executing %q", c.Path)
}

// root builds the root, or looks at what the runtime has built.
func (c *Config) root() error {
	if c.Root != nil {
		if err := buildRoot(c.Root); err != nil {
			return err
		}
		// Cosmetic: a container's seccomp profile may refuse it.
		_ = unix.Sethostname([]byte("sandbox"))
	}
	return compare(c.Mounted)
}

// readConfig reads the configuration, and the descriptors that come with it.
func readConfig() (*Config, []int, error) {
	unix.CloseOnExec(ControlFD) // it must not reach the guest
	b, files, err := receive()
	if err != nil {
		return nil, nil, step(err, "reading the configuration")
	}
	var c Config
	// A parent that dies while it writes leaves half an object.
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, nil, step(err, "decoding the configuration")
	}
	if len(files) != c.Files || len(files) < c.Keep {
		return nil, nil, step(unix.EBADMSG, "receiving descriptors")
	}
	// A parent that died before the death signal was set leaves a socket that nobody reads from.
	poll := []unix.PollFd{{Fd: ControlFD}}
	if _, err := unix.Poll(poll, 0); err == nil && poll[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
		return nil, nil, step(unix.EPIPE, "looking for the parent")
	}
	return &c, files, nil
}

// receive reads all that is sent.
func receive() (b []byte, files []int, err error) {
	part, rights := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(256*4))
	for {
		n, rn, flags, _, err := unix.Recvmsg(ControlFD, part, rights, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, nil, err
		case flags&unix.MSG_CTRUNC != 0:
			return nil, nil, unix.EMFILE
		case n == 0:
			return b, files, nil
		}
		b = append(b, part[:n]...)
		messages, err := unix.ParseSocketControlMessage(rights[:rn])
		if err != nil {
			return nil, nil, err
		}
		for _, m := range messages {
			fds, err := unix.ParseUnixRights(&m)
			if err != nil {
				return nil, nil, err
			}
			files = append(files, fds...)
		}
	}
}

// place puts the guest's descriptors where it looks for them, and names the mounts' by their numbers.
func (c *Config) place(files []int) error {
	for i, fd := range files[:c.Keep] {
		if err := unix.Dup3(fd, i, 0); err != nil {
			return step(err, "placing descriptor %d", i)
		}
	}
	if c.Root == nil {
		return nil
	}
	for i := range c.Root.Binds {
		if b := &c.Root.Binds[i]; b.Tree != 0 {
			if b.Tree >= len(files) {
				return step(unix.EBADMSG, "mounting %q", b.Inside)
			}
			b.Tree = files[b.Tree]
		}
	}
	return nil
}

// report tells the parent why there will be no guest.
func report(err error) {
	f := Failure{Step: "starting", Text: err.Error()}
	var se *stepError
	if errors.As(err, &se) {
		f.Step, f.Text = se.step, se.err.Error()
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Errno = int(errno)
	}
	b, _ := json.Marshal(f)         // of two strings and a number
	_, _ = unix.Write(ControlFD, b) // nobody is left to tell
}

// yieldMemory offers the guest first to a kernel that runs out of memory. It is a courtesy to the host,
// done while the host's /proc is still there, and its failure costs the guest nothing.
func yieldMemory() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
}

// setInherited makes the settings that outlast execve and pass to every child.
func (c *Config) setInherited() error {
	if c.SmallPages {
		_ = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) // a kernel without huge pages has nothing to be told
	}
	return step(unix.Prctl(unix.PR_SET_TIMERSLACK, c.TimerSlack, 0, 0, 0), "setting the timer slack")
}
