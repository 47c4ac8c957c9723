package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// groupPrefix begins the names of our groups; codemode's pid and a number follow.
const groupPrefix = "codemode-"

// cgroups is where groups for guests can be made, if anywhere: cgroup v2 only, and only where it is
// ours to use. It is set up once, on the first look.
type cgroups struct {
	once        sync.Once
	parent      string // directory to make groups in, "" for none
	controllers []string
	made        atomic.Int64
}

// offers tells whether groups limit something: "memory", "pids", "cpu".
func (c *cgroups) offers(controller string) bool {
	c.once.Do(func() {
		mountinfo, err1 := os.ReadFile("/proc/self/mountinfo")
		self, err2 := os.ReadFile("/proc/self/cgroup")
		if err1 != nil || err2 != nil {
			return
		}
		mount, own := cgroupDirs(string(mountinfo), string(self))
		if mount == "" {
			return
		}
		if os.Geteuid() == 0 {
			c.parent, c.controllers = mount, enableControllers(mount)
		} else {
			c.parent, c.controllers = own, takeDelegated(own)
		}
		if !slices.Contains(c.controllers, "memory") || !slices.Contains(c.controllers, "pids") {
			c.parent, c.controllers = "", nil
			return
		}
		sweepGroups(c.parent)
	})
	return slices.Contains(c.controllers, controller)
}

// cgroupDirs finds the mount of cgroup v2 and our own group in it.
func cgroupDirs(mountinfo, self string) (mount, own string) {
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		if f := strings.Fields(before); ok && len(f) > 4 && strings.HasPrefix(after, "cgroup2 ") {
			mount = f[4]
		}
	}
	if mount == "" {
		return "", ""
	}
	for line := range strings.Lines(self) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			own = filepath.Join(mount, strings.TrimSpace(path))
		}
	}
	return mount, own
}

// enableControllers makes what a group offers available to groups below it, and returns what that is.
func enableControllers(dir string) []string {
	for _, c := range []string{"memory", "pids", "cpu"} {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0) // the answer below counts
	}
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// takeDelegated uses a group that was delegated to us, as `systemd-run --user --scope -p Delegate=yes`
// does. A group with processes cannot have groups below it that limit anything, so we move into a leaf;
// only if everybody in the group is ours, because a login session is not ours to rearrange.
func takeDelegated(own string) []string {
	b, err := os.ReadFile(filepath.Join(own, "cgroup.controllers"))
	if err != nil || !strings.Contains(string(b), "memory") || unix.Access(own, unix.W_OK) != nil {
		return nil
	}
	b, err = os.ReadFile(filepath.Join(own, "cgroup.procs"))
	members := strings.Fields(string(b))
	if err != nil || slices.ContainsFunc(members, func(pid string) bool { return !isOurs(pid) }) {
		return nil
	}
	leaf := filepath.Join(own, groupPrefix+"host")
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil
	}
	for _, pid := range members {
		_ = os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte(pid), 0) // it may have ended
	}
	return enableControllers(own)
}

// isOurs tells whether a process is codemode or descends from it.
func isOurs(pid string) bool {
	for self := strconv.Itoa(os.Getpid()); pid != "" && pid != "0"; pid = parentOf(pid) {
		if pid == self {
			return true
		}
	}
	return false
}

// sweepGroups removes groups of a codemode that was killed. One that holds a process stays.
func sweepGroups(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, groupPrefix+"*-*")) // the pattern is sound
	for _, d := range dirs {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(d), groupPrefix), "-")
		if processGone(pid) {
			_ = os.Remove(d)
		}
	}
}

// limit makes a group for a guest that is about to start, and has it start there. Without groups it
// returns nil.
func (c *cgroups) limit(l *launch) (*cgroup, error) {
	if l.enforced.Memory != meansCgroup && l.enforced.Pids != meansCgroup && l.enforced.CPUs != meansCgroup {
		return nil, nil
	}
	dir := filepath.Join(c.parent, fmt.Sprintf("%s%d-%d", groupPrefix, os.Getpid(), c.made.Add(1)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	g := &cgroup{dir}
	if err := g.set(l.policy); err != nil {
		g.remove()
		return nil, err
	}
	fd, err := os.Open(dir)
	if err != nil {
		g.remove()
		return nil, fmt.Errorf("opening a cgroup: %w", err)
	}
	l.undo.add(func() { fd.Close() })
	l.cmd.SysProcAttr.UseCgroupFD = true
	l.cmd.SysProcAttr.CgroupFD = int(fd.Fd())
	return g, nil
}

// A cgroup is the group of one guest.
type cgroup struct{ dir string }

// set writes the limits of a policy. All of a guest goes when it is out of memory, not a process of it
// that the kernel picks.
func (g *cgroup) set(p Policy) error {
	type setting struct {
		file, value string
		optional    bool
	}
	settings := []setting{{"memory.oom.group", "1", false}}
	if p.Memory > 0 {
		settings = append(settings,
			setting{"memory.max", strconv.FormatInt(p.Memory, 10), false},
			setting{"memory.swap.max", "0", true}) // absent where the kernel does not account swap
	}
	if p.Processes > 0 {
		settings = append(settings, setting{"pids.max", strconv.Itoa(p.Processes), false})
	}
	if p.CPUs > 0 {
		settings = append(settings, setting{"cpu.max", fmt.Sprintf("%d 100000", int(p.CPUs*100000)), false})
	}
	for _, s := range settings {
		err := os.WriteFile(filepath.Join(g.dir, s.file), []byte(s.value), 0)
		if err != nil && (!s.optional || !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("limiting a cgroup: %w", err)
		}
	}
	return nil
}

// outOfMemory tells whether the kernel killed for the group's memory limit.
func (g *cgroup) outOfMemory() bool {
	b, err := os.ReadFile(filepath.Join(g.dir, "memory.events"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strings.TrimSpace(n) != "0"
		}
	}
	return false
}

// remove removes the group, whose processes have ended. The kernel may need a moment to notice.
func (g *cgroup) remove() {
	_ = os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0)
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		if err := os.Remove(g.dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		time.Sleep(wait)
	}
}
