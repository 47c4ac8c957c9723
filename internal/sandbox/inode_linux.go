package sandbox

import "golang.org/x/sys/unix"

// InodeOf is what tells the file or folder at a path from all others of this machine. The path must lead through no
// link.
func InodeOf(path string) (Inode, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return Inode{}, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	return Inode{Device: st.Dev, Number: st.Ino}, err
}
