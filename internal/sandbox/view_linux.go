package sandbox

import (
	"path"
	"slices"
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
	out      bool          // it has an OutDir
	closed   bool          // no Unix socket that could connect to a path: it sees folders that may hold sockets
	writes   bool          // it can change files of its user's

	guest *guestSource // nil for a program
}

// A guestSource is what a guest is made of, on the host.
type guestSource struct {
	py   *python.Interpreter
	dir  string // of the guest's files
	boot string // below dir

	mounts []Mount
}

// guestView is what a guest sees.
func guestView(spec Spec, py *python.Interpreter, dir string, e Enforcement) view {
	source := &guestSource{py, dir, spec.Boot, spec.Mounts}
	v := view{
		path: py.Exe, argv: source.argv(py.Exe, GuestDir), env: guestEnv(py, spec.Env), dir: WorkDir, keep: 6,
		uid: guestID, gid: guestID,
		binds: guestBinds(py, dir), symlinks: slices.Clone(host().symlinks), files: rootFiles(),
		devices: guestDevices(e),
		dirs: []stage2.Dir{
			{Inside: "/tmp", Size: spec.Policy.TmpSize, Inodes: 4096},
			{Inside: WorkDir, Size: spec.Policy.WorkSize, Inodes: 16384},
		},
		shm:    16 << 20,
		out:    spec.Out,
		closed: hasDirs(spec.Mounts) || !py.Embedded, // whose folders are the user's, or other programs'
		writes: HasWritable(spec.Mounts),
		guest:  source,
	}
	if spec.Out {
		v.dirs[len(v.dirs)-1].Sub = outName
	}
	for _, m := range spec.Mounts {
		inside := path.Join(mountDir, m.Name)
		v.binds = append(
			v.binds, Bind{Host: m.Host, Inside: inside, Write: m.Write, Real: true, Shift: true, NoExec: true},
		)
		for _, c := range m.ToCover() {
			v.binds = append(
				v.binds, Bind{Host: null, Inside: path.Join(inside, c.Path), NoExec: true, Cover: true, Dir: c.Dir},
			)
		}
		v.symlinks = append(v.symlinks, stage2.Symlink{
			Target: stage2.Bytes(inside), Inside: stage2.Bytes(path.Join(WorkDir, m.Name)),
		})
	}
	return v
}

// null covers what is not to be read: on a mount without devices it cannot be opened.
const null = "/dev/null"

// mountDir is where mounts are, with links to them in WorkDir: Landlock allows to write to all that is below that, and
// what may only be read should have two restrictions.
const mountDir = "/mnt"

// argv is the guest's command line: isolated from environment and user, without site, unbuffered.
func (g *guestSource) argv(exe, dir string) []string {
	return []string{exe, "-I", "-S", "-u", "-X", "utf8", path.Join(dir, g.boot), bootArg}
}

// fit makes the directories in memory together no larger than that.
func (v *view) fit(memory int64) {
	sizes := []*int64{&v.shm}
	for i := range v.dirs {
		sizes = append(sizes, &v.dirs[i].Size)
	}
	FitFiles(memory, sizes...)
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
	var execute, write, own []string
	for _, b := range v.binds {
		switch {
		case b.NoExec && b.Write:
			write = append(write, b.Inside)
		case b.NoExec: // it can be read, as everything can
		case b.Write:
			own = append(own, b.Inside)
		default:
			execute = append(execute, b.Inside)
		}
	}
	if v.program {
		own = append(own, v.writable()...)
	} else {
		write = append(write, v.writable()...)
	}
	return stage2.Landlock{
		Read: stage2.ToBytes("/"), Execute: stage2.ToBytes(execute...), Write: stage2.ToBytes(write...),
		Own: stage2.ToBytes(own...), Devices: stage2.ToBytes("/dev"), Network: v.network,
	}
}
