package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"codemode/internal/sandbox/stage2"

	"golang.org/x/sys/unix"
)

const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// secondStage is the command of a second stage; startStage chooses the program. The garbage collector would only cost
// it time.
func secondStage() *exec.Cmd {
	return &exec.Cmd{
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
	v := l.view
	l.cmd = usernsStage(v.uid, v.gid, l.givesUpRoot())
	if v.network {
		l.cmd.SysProcAttr.Cloneflags &^= unix.CLONE_NEWNET
	}
	if v.grace > 0 {
		l.cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM // the reaper kills it after the grace
	}

	l.config.DropBounds = true
	l.config.Root = &stage2.Root{
		Binds:    l.trees(v.binds),
		Devices:  v.devices,
		Symlinks: v.symlinks,
		Files:    v.files,
		Dirs:     v.dirs,
		Shm:      v.shm,
		Proc:     true,
	}
	if v.guest != nil {
		l.site, l.layers = v.guest.py.SitePackages, v.guest.py.Layers
	}
	return nil
}

// givesUpRoot tells whether we are root, and can become nobody. A program keeps to a root that is an ordinary user
// outside, as in a rootless container, since its files are that user's.
func (l *launch) givesUpRoot() bool {
	return givesUpRoot() && (!l.view.program || isRootOutside())
}

func givesUpRoot() bool {
	return os.Geteuid() == 0 && mapped("/proc/self/uid_map", guestID) && mapped("/proc/self/gid_map", guestID)
}

// isRootOutside tells whether the root of this user namespace is the machine's.
func isRootOutside() bool {
	return slices.Equal(strings.Fields(readLine("/proc/self/uid_map")), []string{"0", "0", "4294967295"})
}

// trees describes binds to the second stage. Root opens them itself, because the guest's user may not
// reach a cache below /root; where even root may not, the second stage has to try.
func (l *launch) trees(binds []Bind) []stage2.Bind {
	var out []stage2.Bind
	for _, b := range binds {
		sb := stage2.Bind{
			Host: stage2.Bytes(b.Host), Inside: stage2.Bytes(b.Inside), Write: b.Write, Real: b.Real,
			NoExec: b.NoExec, Cover: b.Cover, Dir: b.Dir,
		}
		if b.Cover {
			out = append(out, sb)
			continue
		}
		fi, err := os.Stat(b.Host)
		sb.Dir = err != nil || fi.IsDir()
		sb.Overlay = b.Overlay && sb.Dir && !mountedBelow(b.Host)
		if os.Geteuid() == 0 {
			if fd, err := stage2.OpenTree(sb); err == nil {
				tree := os.NewFile(uintptr(fd), b.Host)
				l.sent = append(l.sent, tree)
				sb.Tree = l.view.keep + len(l.sent) - 1
				if b.Shift && l.givesUpRoot() {
					l.shift = append(l.shift, shifted{tree, b.Write})
				}
			}
		}
		out = append(out, sb)
	}
	return out
}

// mountedBelow tells whether something is mounted below a folder, which an overlay of it would not show. It has looked
// once: nothing is mounted in the system's folders while it runs.
func mountedBelow(dir string) bool {
	return slices.ContainsFunc(mounted(), func(at string) bool { return at != dir && holds(dir, at) })
}

var mounted = sync.OnceValue(func() (places []string) {
	for at := range Mountpoints {
		places = append(places, at)
	}
	return places
})

// ownersOf returns the user namespace for ID-mapped mounts: the process's own if it maps root, else that of a helper
// process which is started for this alone and ended at once.
func (l *launch) ownersOf(pid int) (ns *os.File, err error) {
	if l.view.uid == 0 {
		return os.Open(procFile(pid, "ns/user"))
	}
	cmd := secondStage()
	cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: guestID, Size: 1}}
	cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = ids, ids
	s, err := startStage(cmd, nil)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return os.Open(procFile(cmd.Process.Pid, "ns/user"))
}

// A shifted mount shows what is root's as what is the sandbox's user's, who is nobody on the host.
type shifted struct {
	tree  *os.File
	write bool
}

// shiftOwners maps the owners in those mounts as the user namespace of a process maps its users. It is done between the
// clone, which makes the namespace, and the second stage's first step, which waits for its configuration. A file system
// that cannot do it still shows what everybody may read.
func (l *launch) shiftOwners(pid int) error {
	if len(l.shift) == 0 {
		return nil
	}
	ns, err := l.ownersOf(pid)
	if err != nil {
		return fmt.Errorf("starting a sandbox: %w", err)
	}
	defer ns.Close()
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(ns.Fd())}
	for _, s := range l.shift {
		err := unix.MountSetattr(int(s.tree.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
		if err != nil && s.write {
			return fmt.Errorf(
				"starting a sandbox as root: %q cannot be written to in one, since its file system cannot map owners: %w",
				s.tree.Name(), err,
			)
		}
	}
	return nil
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
