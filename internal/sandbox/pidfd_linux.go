package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A pidfd is a process that is not our child, held so that its number cannot come to mean another.
type pidfd struct{ pid, fd int }

// openChild opens a process that is known to be a child of another.
func openChild(pid, parent int) (*pidfd, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	// Its number may have come to mean another before it was held.
	if got := parentOf(strconv.Itoa(pid)); got != strconv.Itoa(parent) {
		unix.Close(fd)
		return nil, fmt.Errorf("process %d is a child of %q, not of %d", pid, got, parent)
	}
	return &pidfd{pid, fd}, nil
}

// parentOf is the parent of a process, "" when there is no such process.
func parentOf(pid string) string {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	// The command's name, in parentheses, may hold anything.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 2 {
		return ""
	}
	return f[1]
}

func (p *pidfd) signal(sig unix.Signal) { _ = unix.PidfdSendSignal(p.fd, sig, nil, 0) } // it may have ended

// wait returns when the process has ended.
func (p *pidfd) wait() {
	poll := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(poll, -1); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (p *pidfd) close() { unix.Close(p.fd) }

// processGone tells whether a number is no process's any more.
func processGone(pid string) bool {
	n, err := strconv.Atoi(pid)
	return err == nil && n > 0 && errors.Is(unix.Kill(n, 0), unix.ESRCH)
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
