package sandboxtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codemode/internal/sandbox/helper"

	"golang.org/x/sys/unix"
)

// Marker returns a word for a command line by which [Marked] finds the process.
func Marker(t *testing.T) string {
	return fmt.Sprintf("codemode-test-%d-%s", os.Getpid(), filepath.Base(t.Name()))
}

// Marked counts processes of this machine with the marker in their command line.
func Marked(t *testing.T, marker string) int {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(found, func(name string) bool {
		b, err := os.ReadFile(name)
		return err != nil || !bytes.Contains(b, []byte(marker))
	}))
}

// A Leftovers is what a process has of the system at one time.
type Leftovers struct {
	children, fds, mounts, temps []string

	folders []string // of the test
}

// TakeLeftovers looks at the children and descriptors of this process, at temporary files of guests, and at the mounts
// below the test's folders and where a guest's root is built. From then on orphans below this process become its
// children, so that they are seen. It does not look at what others on this machine may do meanwhile.
func TakeLeftovers(t *testing.T) Leftovers {
	t.Helper()
	return take(t, []string{filepath.Dir(t.TempDir()), filepath.Join(CacheHome(), "codemode")})
}

func take(t *testing.T, folders []string) Leftovers {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	l := Leftovers{folders: folders}
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, name := range tasks {
		b, _ := os.ReadFile(name) // a thread that has ended has no children
		l.children = append(l.children, strings.Fields(string(b))...)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		// The runtime opens its poller, and codemode its helper, when they first need it.
		target, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/proc/") &&
			filepath.Base(target) != helper.Name {
			l.fds = append(l.fds, target)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for mount := range strings.Lines(string(mounts)) {
		if f := strings.Fields(mount); len(f) > 4 && l.owns(f[4]) {
			l.mounts = append(l.mounts, mount)
		}
	}
	// Named by process: those of other tests' hosts, killed on purpose, are not ours.
	l.temps, _ = filepath.Glob(filepath.Join(os.TempDir(), fmt.Sprintf("codemode-guest-%d-*", os.Getpid())))
	return l
}

// guestRoot is where stage2 builds a guest's root; a mount there is in the wrong namespace.
const guestRoot = "/tmp"

// owns tells whether nobody but the test mounts anything at a place.
func (l Leftovers) owns(place string) bool {
	return place == guestRoot || slices.ContainsFunc(l.folders, func(dir string) bool {
		return place == dir || strings.HasPrefix(place, dir+"/")
	})
}

// Check fails the test for everything that is there now and was not before.
func (l Leftovers) Check(t *testing.T) {
	t.Helper()
	now := take(t, l.folders)
	now.children = slices.DeleteFunc(now.children, func(pid string) bool {
		return !slices.Contains(l.children, pid) && dead(pid)
	})
	for _, c := range []struct {
		what        string
		before, now []string
	}{
		{"child process", l.children, now.children},
		{"descriptor", l.fds, now.fds},
		{"mount", l.mounts, now.mounts},
		{"directory", l.temps, now.temps},
	} {
		before := slices.Clone(c.before)
		for _, x := range c.now {
			if i := slices.Index(before, x); i >= 0 {
				before = slices.Delete(before, i, i+1)
			} else {
				t.Errorf("left behind: %s %s", c.what, x)
			}
		}
	}
}

// dead tells whether a child has ended, and takes its exit status. An orphan that was killed may need a
// moment.
func dead(child string) bool {
	pid, err := strconv.Atoi(child)
	if err != nil {
		return false
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err == unix.ESRCH
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 2000)
	if err != nil || n == 0 {
		return false
	}
	_, err = unix.Wait4(pid, nil, 0, nil)
	return err == nil
}

// inheritable clears a descriptor's close-on-exec flag, as a careless parent of codemode would.
func inheritable(t *testing.T, f *os.File) {
	t.Helper()
	conn, err := f.SyscallConn()
	if err == nil {
		cerr := conn.Control(func(fd uintptr) { _, err = unix.FcntlInt(fd, unix.F_SETFD, 0) })
		if err == nil {
			err = cerr
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
