package sandbox

import (
	"path"
	"time"

	"codemode/internal/sandbox/python"
	"codemode/internal/sandbox/stage2"
)

// A view is what a guest or a program sees and is, however its namespaces are made. Paths are as it sees them, but for
// Bind.Host.
type view struct {
	program bool // an ordinary program: the other profile of system calls, and files of its own that it may execute
	path    string
	argv    []string
	env     []string
	dir     string // where it starts
	keep    int    // its descriptors from 0 on

	uid, gid int // its own
	binds    []Bind
	symlinks []stage2.Symlink
	files    []stage2.File
	dirs     []stage2.Dir // in memory
	shm      int64        // bytes of /dev/shm, of that kind, too
	devices  []string
	network  bool          // the host's
	grace    time.Duration // to end by itself when codemode has died

	guest *guestSource // nil for a program
}

// A guestSource is what a guest is made of, on the host.
type guestSource struct {
	py   *python.Interpreter
	dir  string // of the guest's files
	boot string // below dir
}

// guestView is what a guest sees.
func guestView(spec Spec, py *python.Interpreter, dir string, e Enforcement) view {
	source := &guestSource{py, dir, spec.Boot}
	return view{
		path: py.Exe, argv: source.argv(py.Exe, GuestDir), env: guestEnv(py, spec.Env), dir: "/workspace", keep: 6,
		uid: guestID, gid: guestID,
		binds: guestBinds(py, dir), symlinks: host().symlinks, files: rootFiles(), devices: guestDevices(e),
		dirs: []stage2.Dir{
			{Inside: "/tmp", Size: spec.Policy.TmpSize, Inodes: 4096},
			{Inside: "/workspace", Size: spec.Policy.WorkSize, Inodes: 16384},
		},
		shm:   16 << 20,
		guest: source,
	}
}

// argv is the guest's command line: isolated from environment and user, without site, unbuffered.
func (g *guestSource) argv(exe, dir string) []string {
	return []string{exe, "-I", "-S", "-u", "-X", "utf8", path.Join(dir, g.boot), bootArg}
}

// writable are the directories in memory.
func (v *view) writable() []string {
	all := []string{"/dev/shm"}
	for _, d := range v.dirs {
		all = append(all, d.Inside)
	}
	return all
}

// landlock repeats what the mounts say, in case one of them is undone.
func (v *view) landlock() stage2.Landlock {
	l := stage2.Landlock{Read: []string{"/"}, Devices: []string{"/dev"}, Network: v.network}
	for _, b := range v.binds {
		if b.Write {
			l.Own = append(l.Own, b.Inside)
		} else {
			l.Execute = append(l.Execute, b.Inside)
		}
	}
	if v.program {
		l.Own = append(l.Own, v.writable()...)
	} else {
		l.Write = v.writable()
	}
	return l
}
