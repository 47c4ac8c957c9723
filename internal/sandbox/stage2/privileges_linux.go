package stage2

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// securebits: no capabilities by being root or by changing users, none kept, none raised; all locked.
const securebits = 0x1 | 0x2 | // NOROOT, locked
	0x4 | 0x8 | // NO_SETUID_FIXUP, locked
	0x20 | // KEEP_CAPS off, locked
	0x40 | 0x80 // NO_CAP_AMBIENT_RAISE, locked

// dropPrivileges gives up every capability for good. Emptying the bounding set and locking the
// securebits takes a capability itself, which only the owner of a new user namespace has.
func dropPrivileges(bounds bool) error {
	if bounds {
		for c := uintptr(0); c < 64; c++ {
			err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
			if errors.Is(err, unix.EINVAL) {
				break // past the kernel's last capability
			}
			if err != nil {
				return step(err, "dropping capability %d", c)
			}
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return step(err, "clearing ambient capabilities")
	}
	if bounds {
		if err := unix.Prctl(unix.PR_SET_SECUREBITS, securebits, 0, 0, 0); err != nil {
			return step(err, "locking securebits")
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return step(err, "dropping capabilities")
	}
	return step(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "setting no_new_privs")
}

// sendListener applies a seccomp program that asks about calls, and sends the parent what it is asked by.
func sendListener(filter []byte) error {
	listener, err := installFilter(filter, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if err != nil {
		return err
	}
	defer unix.Close(listener)
	err = unix.Sendmsg(ControlFD, []byte{Listener}, unix.UnixRights(listener), nil, unix.MSG_NOSIGNAL)
	return step(err, "telling the parent")
}

// installFilter applies a seccomp program to this thread, which is to become the guest. Where flags ask for a listener,
// it is returned, and executing something closes it.
func installFilter(filter []byte, flags uintptr) (listener int, err error) {
	if len(filter) == 0 {
		return 0, step(unix.EINVAL, "installing the system call filter")
	}
	prog := unix.SockFprog{
		Len:    uint16(len(filter) / int(unsafe.Sizeof(unix.SockFilter{}))),
		Filter: (*unix.SockFilter)(unsafe.Pointer(&filter[0])),
	}
	fd, _, errno := unix.RawSyscall(
		unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)),
	)
	if errno != 0 {
		return 0, step(errno, "installing the system call filter")
	}
	return int(fd), nil
}

// HasFilters tells whether this kernel can make system calls fail by a filter.
func HasFilters() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// coreLimit keeps crashes from the system's collector of core dumps: a limit of 0 holds for files alone, and of 1 for a
// handler that the kernel pipes them to, too (core(5)). The filter refuses to change it.
var coreLimit = Limit{Name: "core", Resource: unix.RLIMIT_CORE, Cur: 1, Max: 1}

// setLimits sets what the guest starts with. A hard limit that is lower already stays.
func setLimits(limits []Limit) error {
	for _, l := range limits {
		var old unix.Rlimit
		if err := unix.Prlimit(0, l.Resource, nil, &old); err != nil {
			return step(err, "reading limit %s", l.Name)
		}
		lim := unix.Rlimit{Cur: min(l.Cur, old.Max), Max: min(l.Max, old.Max)}
		if err := unix.Prlimit(0, l.Resource, &lim, nil); err != nil {
			return step(err, "setting limit %s", l.Name)
		}
	}
	return nil
}
