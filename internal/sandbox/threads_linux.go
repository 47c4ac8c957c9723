package sandbox

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// threadLimit decides about each new thread of a guest that is one process of the host's: no rlimit counts the threads
// of one process, and there may be no cgroup. The kernel has a thread that makes another wait for the answer
// (seccomp_unotify(2)). As many as the guest has at that moment can be waiting, so it has less than twice as many as it
// may at most. It belongs to one goroutine, which ends with the guest or when the listener is closed.
type threadLimit struct {
	listener *os.File
	pid      int
	most     int
}

// seccompNotice is struct seccomp_notif of linux/seccomp.h, with room for what later kernels add.
type seccompNotice struct {
	id   uint64
	rest [504]byte
}

// seccompAnswer is struct seccomp_notif_resp.
type seccompAnswer struct {
	id    uint64
	value int64
	err   int32
	flags uint32
	_     [488]byte
}

func (t *threadLimit) run() {
	conn, err := t.listener.SyscallConn()
	if err != nil {
		return // it has been closed
	}
	_ = conn.Read(func(fd uintptr) (over bool) { // an error is that it was closed meanwhile
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			poll[0].Revents = 0
			switch n, err := unix.Poll(poll, 0); {
			case errors.Is(err, unix.EINTR):
				continue
			case err != nil || poll[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0:
				return true
			case n == 0:
				return false
			}
			t.answer(fd)
		}
	})
}

// answer answers who waits the longest. One that has ended meanwhile needs no answer.
func (t *threadLimit) answer(fd uintptr) {
	var notice seccompNotice
	if !notify(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&notice)) {
		return
	}
	answer := seccompAnswer{id: notice.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if countThreads(t.pid) >= t.most {
		answer.flags, answer.err = 0, -int32(unix.EAGAIN)
	}
	notify(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer))
	runtime.KeepAlive(&answer)
}

func notify(fd, request uintptr, what unsafe.Pointer) bool {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(what))
	return errno == 0
}

// countThreads is how many threads a process has. The kernel gives the directory of them a link for each (proc(5)), so
// that none of them need be listed.
func countThreads(pid int) int {
	var st unix.Stat_t
	if unix.Stat(procFile(pid, "task"), &st) != nil {
		return 0 // it has ended
	}
	return int(st.Nlink) - 2
}
