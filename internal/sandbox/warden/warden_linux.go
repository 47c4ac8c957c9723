package warden

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	if len(os.Args) == 2 && os.Args[0] == Name {
		grace, _ := time.ParseDuration(os.Args[1]) // by Start, below
		watch(grace)
		syscall.Exit(0) // at once: os.Exit would wait a second for the race detector, and Stop with it
	}
}

// watch waits for the end of the guest, or of codemode, which after the grace is the guest's end.
func watch(grace time.Duration) {
	// What codemode's own parent left open is nobody's to hold.
	_ = unix.CloseRange(aliveFD+1, 1<<31-1, 0)
	ended := unix.PollFd{Fd: guestFD, Events: unix.POLLIN}
	if wait(-1, ended, unix.PollFd{Fd: aliveFD, Events: unix.POLLIN}) || grace > 0 && wait(grace, ended) {
		return
	}
	_ = unix.PidfdSendSignal(guestFD, unix.SIGKILL, nil, 0)
}

// wait waits for one of fds, and tells whether it was the first. A negative limit is none.
func wait(limit time.Duration, fds ...unix.PollFd) bool {
	deadline := time.Now().Add(limit)
	for {
		left := -1
		if limit >= 0 {
			left = int(max(0, time.Until(deadline)).Milliseconds())
		}
		_, err := unix.Poll(fds, left)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && fds[0].Revents != 0
		}
	}
}

// A Warden watches over one guest until Stop.
type Warden struct {
	cmd   *exec.Cmd
	alive *os.File
}

// Start starts the warden of the process that pidfd stands for, which has that grace when codemode dies. The caller calls
// Stop.
func Start(pidfd int, grace time.Duration) (*Warden, error) {
	guest, err := unix.FcntlInt(uintptr(pidfd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox's warden: %w", err)
	}
	guestFile := os.NewFile(uintptr(guest), "guest")
	defer guestFile.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox's warden: %w", err)
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{Name, grace.String()}, Env: []string{"GOMAXPROCS=1"},
		ExtraFiles:  []*os.File{guestFile, r},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // away from the terminal and its signals
	}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("starting the sandbox's warden: %w", err)
	}
	return &Warden{cmd, w}, nil
}

// Stop ends the warden, and waits for it. A guest that is still there ends, too, after its grace.
func (w *Warden) Stop() {
	w.alive.Close()
	_ = w.cmd.Wait() // its exit says nothing
}
