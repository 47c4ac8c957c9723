package sandbox

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"codemode/internal/sandbox/stage2"

	"golang.org/x/sys/unix"
)

const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// secondStage is the command that re-executes codemode. The garbage collector would only cost it time.
func secondStage() *exec.Cmd {
	return &exec.Cmd{
		Path: "/proc/self/exe",
		Args: []string{stage2.Name},
		Env:  []string{"GOGC=off"},
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:    true,
			Pdeathsig: syscall.SIGKILL,
		},
	}
}

// prepareUserns has the second stage build everything in namespaces of its own.
func (l *launch) prepareUserns() error {
	l.cmd = secondStage()
	attr := l.cmd.SysProcAttr
	attr.Cloneflags = namespaces
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 && mapped("/proc/self/uid_map", guestID) && mapped("/proc/self/gid_map", guestID) {
		// Root gives itself up; setgroups is enabled for just that.
		uid, gid = guestID, guestID
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{Uid: guestID, Gid: guestID}
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: guestID, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: guestID, HostID: gid, Size: 1}}
	// The guest's user is not root in its namespace either, so capabilities would not survive the
	// execve of the second stage, which needs these.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE}

	binds := guestBinds(l.py, l.dir)
	l.config.Argv = l.argv(l.py.Exe, GuestDir)
	l.config.Dir = "/workspace"
	l.config.DropBounds = true
	l.config.Landlock = landlockRules(binds)
	l.config.Root = &stage2.Root{
		Binds:    l.trees(binds),
		Devices:  l.devices(),
		Symlinks: host().symlinks,
		Files:    rootFiles(),
		TmpSize:  l.spec.Policy.TmpSize,
		WorkSize: l.spec.Policy.WorkSize,
		Proc:     true,
	}
	l.site = l.py.SitePackages
	return nil
}

// trees describes binds to the second stage. Root opens them itself, because the guest's user may not
// reach a cache below /root; where even root may not, the second stage has to try.
func (l *launch) trees(binds []Bind) []stage2.Bind {
	var out []stage2.Bind
	for _, b := range binds {
		sb := stage2.Bind{Host: b.Host, Inside: b.Inside}
		fi, err := os.Stat(b.Host)
		sb.Dir = err != nil || fi.IsDir()
		if os.Geteuid() == 0 {
			if fd, err := stage2.OpenTree(b.Host); err == nil {
				sb.Tree = l.pass(os.NewFile(uintptr(fd), b.Host))
			}
		}
		out = append(out, sb)
	}
	return out
}

// mapped tells whether an id exists in this user namespace. In a rootless container only some do.
func mapped(table string, id int) bool {
	b, err := os.ReadFile(table)
	if err != nil {
		return true // a kernel without user namespaces will say so itself
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		first, err1 := strconv.Atoi(f[0])
		size, err2 := strconv.Atoi(f[2])
		if err1 == nil && err2 == nil && id >= first && id < first+size {
			return true
		}
	}
	return false
}
