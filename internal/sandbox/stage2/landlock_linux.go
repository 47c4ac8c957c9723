package stage2

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	readAccess    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	executeAccess = readAccess | unix.LANDLOCK_ACCESS_FS_EXECUTE
	deviceAccess  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	fileAccess    = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	neverOwned = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	neverWritten = neverOwned | unix.LANDLOCK_ACCESS_FS_EXECUTE
)

// LandlockABI is the version of Landlock in this kernel, 0 when it has none or has it switched off.
func LandlockABI() int {
	abi, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// rulesetFor returns what a ruleset can handle in a version, and the size of the structure that the
// version knows. Rights are added by version: linux/landlock.h.
func rulesetFor(abi int) (unix.LandlockRulesetAttr, uintptr) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER - 1}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if abi >= 2 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		size += unsafe.Sizeof(attr.Handled_access_net)
	}
	if abi >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size += unsafe.Sizeof(attr.Scoped)
	}
	return attr, size
}

// restrictPaths applies the rules to this thread. A kernel without Landlock is an error only where
// nothing else would hold.
func restrictPaths(l Landlock, required bool) error {
	abi := LandlockABI()
	if abi == 0 {
		if required {
			return step(unix.EOPNOTSUPP, "restricting paths")
		}
		return nil
	}
	attr, size := rulesetFor(abi)
	if l.Network {
		attr.Handled_access_net = 0
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return step(errno, "making a Landlock ruleset")
	}
	defer unix.Close(int(fd))
	for _, rule := range []struct {
		paths  []Bytes
		access uint64
	}{
		{l.Read, readAccess},
		{l.Execute, executeAccess},
		{l.Write, attr.Handled_access_fs &^ neverWritten},
		{l.Own, attr.Handled_access_fs &^ neverOwned},
		{l.Devices, deviceAccess},
	} {
		for _, path := range rule.paths {
			real := l.Real && rule.access != deviceAccess
			if err := allowBelow(fd, string(path), rule.access&attr.Handled_access_fs, real); err != nil {
				return step(err, "allowing path %q", path)
			}
		}
	}
	_, _, errno = unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	if errno != 0 {
		return step(errno, "restricting paths")
	}
	return nil
}

func allowBelow(ruleset uintptr, path string, access uint64, real bool) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}
	if real {
		how.Resolve = unix.RESOLVE_NO_SYMLINKS
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= fileAccess
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
