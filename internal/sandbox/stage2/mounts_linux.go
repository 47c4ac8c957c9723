package stage2

import (
	"errors"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// scaffold is where the new root is mounted while it is built. Every Linux has it, and what it
	// hides is not needed.
	scaffold = "/tmp"

	rootSize, rootInodes = 1 << 20, 1024
	shmInodes            = 256

	// maxReplaced bounds how often a file is opened again that is replaced while it is mounted, as ldconfig replaces
	// /etc/ld.so.cache.
	maxReplaced = 20

	guestMount    = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	programMount  = unix.MS_NOSUID | unix.MS_NODEV
	writableMount = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readOnlyMount = unix.MOUNT_ATTR_RDONLY | writableMount
)

// buildRoot makes the guest's file system in a new mount namespace and moves into it.
func buildRoot(r *Root) error {
	if err := step(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), "making mounts private"); err != nil {
		return err
	}
	forbidNamespaces()
	trees, err := openTrees(r.Binds)
	if err != nil {
		return err
	}
	devs := openDevices(r.Devices)
	// What overlays are of is mounted below the new root, and detached with the old one.
	lower, err := mountScaffold(0o700)
	if err != nil {
		return err
	}
	defer unix.Close(lower)
	root, err := mountScaffold(0o755)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	if err := step(unix.Fchdir(root), "entering the new root"); err != nil {
		return err
	}
	// The directories in memory come first, so that a bind below one of them is seen.
	if err := makeDirs(r.Dirs); err != nil {
		return err
	}
	for i, b := range r.Binds {
		if b.Overlay && overlay(b, trees[i], lower, root) == nil {
			continue
		}
		if err := attach(b, trees[i]); err != nil {
			return err
		}
	}
	if err := fillRoot(r); err != nil {
		return err
	}
	if err := buildDev(devs, r.Shm); err != nil {
		return err
	}
	if r.Proc {
		if err := mountProc(); err != nil {
			return err
		}
	}
	return enterRoot()
}

// mountScaffold mounts a directory in memory and opens it.
func mountScaffold(mode os.FileMode) (int, error) {
	if err := mountTmpfs(scaffold, guestMount, rootSize, rootInodes, mode); err != nil {
		return -1, err
	}
	fd, err := unix.Open(scaffold, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return fd, step(err, "opening %q", scaffold)
}

// compare refuses mounts that are of something else than they should be: whoever may change a folder can have a path
// below it lead elsewhere for a moment.
func compare(mounts []Mounted) error {
	for _, m := range mounts {
		var st unix.Stat_t
		err := unix.Stat(string(m.Inside), &st)
		if err == nil && (st.Dev != m.Device || st.Ino != m.Number) {
			err = unix.ESTALE
		}
		if err != nil {
			return step(err, "opening mount %q", m.Host)
		}
	}
	return nil
}

// forbidNamespaces lets the guest's user namespace create no further ones, independently of seccomp.
// It is written through the host's /proc, since the limit is that of the writer's namespace. It may fail:
// AlmaLinux 9.8 answers EACCES (containers/bubblewrap#798, 2026).
func forbidNamespaces() {
	_ = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
}

// openTrees opens the sources while the host's root is still there.
func openTrees(binds []Bind) ([]int, error) {
	trees := make([]int, len(binds))
	for i, b := range binds {
		if b.Tree != 0 || b.Cover {
			trees[i] = b.Tree
			continue
		}
		fd, err := OpenTree(b)
		if err != nil {
			return nil, err
		}
		trees[i] = fd
	}
	return trees, nil
}

// OpenTree opens a detached copy of the mount at b.Host and of those below it, with what b says of them. A
// privileged parent does it for directories that the guest's user may not reach, such as a cache below /root. A path
// that is said to be real has had its links followed, and been judged: one that has come since is refused.
func OpenTree(b Bind) (int, error) {
	path := string(b.Host)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}
	if b.Real {
		how.Resolve = unix.RESOLVE_NO_SYMLINKS
	}
	at, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return -1, step(err, "opening mount %q", path)
	}
	defer unix.Close(at)
	fd, err := unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return -1, step(err, "opening mount %q", path)
	}
	attr := unix.MountAttr{Attr_set: readOnlyMount}
	if b.Write {
		attr.Attr_set = writableMount
	}
	if b.NoExec {
		attr.Attr_set |= unix.MOUNT_ATTR_NOEXEC
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		unix.Close(fd)
		return -1, step(err, "restricting mount %q", path)
	}
	return fd, nil
}

// attach moves a tree to its place in the new root, the working directory.
func attach(b Bind, tree int) error {
	rel := strings.TrimPrefix(string(b.Inside), "/")
	if b.Cover {
		return step(cover(b, rel), "covering %q", b.Inside)
	}
	if err := makePoint(rel, b.Dir); err != nil {
		return step(err, "making mount point %q", b.Inside)
	}
	for try := 0; ; try++ {
		err := unix.MoveMount(tree, "", unix.AT_FDCWD, rel, unix.MOVE_MOUNT_F_EMPTY_PATH)
		unix.Close(tree)
		if !errors.Is(err, unix.ENOENT) || try == maxReplaced {
			return step(err, "mounting %q", b.Inside)
		}
		// Somebody has replaced the file since it was opened, and what has no name left cannot be mounted.
		if tree, err = OpenTree(b); err != nil {
			return err
		}
	}
}

// cover hides a file or folder of the user's, whose name they or a program may have given to something else since: what
// is gone, or has become a link, holds nothing. What the second stage may not look for, the guest may not either.
func cover(b Bind, rel string) error {
	at, err := unix.Openat2(unix.AT_FDCWD, rel, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(at)
	var now unix.Stat_t
	if err := unix.Fstat(at, &now); err != nil {
		return err
	}
	var tree int
	switch now.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		tree, err = OpenTree(b)
	case unix.S_IFDIR:
		tree, err = closedDir()
	default:
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	const both = unix.MOVE_MOUNT_F_EMPTY_PATH | unix.MOVE_MOUNT_T_EMPTY_PATH
	return unix.MoveMount(tree, "", at, "", both)
}

// closedDir is a mount of an empty directory that nobody without capabilities can open.
func closedDir() (int, error) {
	fsys, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fsys)
	for name, value := range map[string]string{"mode": "0", "size": "4k", "nr_inodes": "1"} {
		if err := unix.FsconfigSetString(fsys, name, value); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(fsys); err != nil {
		return -1, err
	}
	return unix.Fsmount(fsys, unix.FSMOUNT_CLOEXEC, readOnlyMount|unix.MOUNT_ATTR_NOEXEC)
}

// overlay shows a directory by an overlay of it and of the empty one where it is seen. An overlay's locks are its own:
// those of a bind are the machine's, and of every sandbox that shows the file. Nor does the file mountinfo name where
// the directory is, which may be in the user's home: of a bind it has the path of the source, of an overlay the
// options, where a relative path stays as it is written.
//
// The kernel takes as a layer what is mounted here, as it is below lower then. Where it or the directory's file system
// cannot do that (before Linux 5.11), the tree can still be attached itself.
func overlay(b Bind, tree, lower, root int) error {
	rel, layer := strings.TrimPrefix(string(b.Inside), "/"), strconv.Itoa(tree)
	if err := makePoint(rel, true); err != nil {
		return err
	}
	if err := unix.Mkdirat(lower, layer, 0o700); err != nil {
		return err
	}
	if err := unix.MoveMount(tree, "", lower, layer, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	if err := unix.Fchdir(tree); err != nil {
		return err
	}
	point := path.Join(scaffold, rel)
	err := unix.Mount("overlay", point, "overlay", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "lowerdir=.:"+point)
	if err := errors.Join(err, unix.Fchdir(root)); err != nil {
		return err
	}
	return unix.Close(tree)
}

// makePoint makes what a mount can be attached to, unless it is there.
func makePoint(rel string, dir bool) error {
	if dir {
		return os.MkdirAll(rel, 0o755)
	}
	if err := os.MkdirAll(path.Dir(rel), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(rel, os.O_CREATE|os.O_RDONLY, 0o444)
	if err != nil {
		return err
	}
	return f.Close()
}

// makeDirs mounts what may be written to.
func makeDirs(dirs []Dir) error {
	for _, d := range dirs {
		rel := strings.TrimPrefix(d.Inside, "/")
		if err := step(os.MkdirAll(rel, 0o755), "making %q", d.Inside); err != nil {
			return err
		}
		flags := uintptr(guestMount)
		if d.Exec {
			flags = programMount
		}
		if err := mountTmpfs(rel, flags, d.Size, d.Inodes, 0o700); err != nil {
			return err
		}
		if d.Sub != "" {
			sub := path.Join(rel, d.Sub)
			if err := step(os.Mkdir(sub, 0o755), "making %q", "/"+sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillRoot makes the symbolic links and files of the root itself.
func fillRoot(r *Root) error {
	for _, l := range r.Symlinks {
		rel := strings.TrimPrefix(string(l.Inside), "/")
		if err := os.MkdirAll(path.Dir(rel), 0o755); err != nil {
			return step(err, "making link %q", l.Inside)
		}
		if err := os.Symlink(string(l.Target), rel); err != nil && !errors.Is(err, os.ErrExist) {
			return step(err, "making link %q", l.Inside)
		}
	}
	for _, f := range r.Files {
		rel := strings.TrimPrefix(f.Inside, "/")
		if err := os.MkdirAll(path.Dir(rel), 0o755); err != nil {
			return step(err, "making file %q", f.Inside)
		}
		if err := writeNew(rel, f.Content); err != nil && !errors.Is(err, os.ErrExist) {
			return step(err, "making file %q", f.Inside)
		}
	}
	return nil
}

// writeNew makes a file, and never writes to one that a bind shows there.
func writeNew(name, content string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

// openDevices opens devices of the host; one that is missing is left out.
func openDevices(devices []string) map[string]int {
	trees := map[string]int{}
	for _, d := range devices {
		if fd, err := unix.OpenTree(unix.AT_FDCWD, d, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC); err == nil {
			trees[d] = fd
		}
	}
	return trees
}

// buildDev makes a read-only /dev with those devices and a small /dev/shm.
func buildDev(trees map[string]int, shm int64) error {
	if err := step(os.Mkdir("dev", 0o755), "making /dev"); err != nil {
		return err
	}
	if err := mountTmpfs("dev", unix.MS_NOSUID|unix.MS_NOEXEC, 64<<10, 32, 0o755); err != nil {
		return err
	}
	for name, fd := range trees {
		attrs := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, attrs); err != nil {
			return step(err, "restricting device %q", name)
		}
		if err := attach(Bind{Inside: Bytes(name)}, fd); err != nil {
			return err
		}
	}
	for link, target := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		if err := step(os.Symlink("/proc/self/fd"+target, "dev/"+link), "making /dev/%s", link); err != nil {
			return err
		}
	}
	if err := step(os.Mkdir("dev/shm", 0o755), "making /dev/shm"); err != nil {
		return err
	}
	if err := mountTmpfs("dev/shm", guestMount, shm, shmInodes, 0o700); err != nil {
		return err
	}
	return step(setReadOnly("dev"), "making /dev read-only")
}

// mountProc mounts a /proc that shows the guest's own processes and nothing of the machine. Where the
// host's /proc is masked, as in most containers, the kernel refuses ("mount too revealing"): Python does
// without.
func mountProc() error {
	if err := step(os.Mkdir("proc", 0o755), "making /proc"); err != nil {
		return err
	}
	err := unix.Mount("proc", "proc", "proc", guestMount, "subset=pid")
	if err != nil && !errors.Is(err, unix.EPERM) {
		return step(err, "mounting /proc")
	}
	return nil
}

// enterRoot makes the working directory the root, and forgets the host's.
func enterRoot() error {
	if err := step(unix.PivotRoot(".", "."), "changing the root"); err != nil {
		return err
	}
	if err := step(unix.Unmount(".", unix.MNT_DETACH), "detaching the old root"); err != nil {
		return err
	}
	return step(setReadOnly("/"), "making the root read-only")
}

func setReadOnly(dir string) error {
	return unix.MountSetattr(unix.AT_FDCWD, dir, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

func mountTmpfs(dir string, flags uintptr, size int64, inodes int, mode os.FileMode) error {
	opts := "mode=" + strconv.FormatUint(uint64(mode), 8) + ",nr_inodes=" + strconv.Itoa(inodes)
	if size > 0 {
		opts += ",size=" + strconv.FormatInt(size, 10)
	}
	return step(unix.Mount("tmpfs", dir, "tmpfs", flags, opts), "mounting a tmpfs on %q", dir)
}
