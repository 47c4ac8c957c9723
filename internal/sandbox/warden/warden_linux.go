package warden

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func init() {
	if len(os.Args) == 1 && os.Args[0] == Name {
		watch()
		syscall.Exit(0) // at once: os.Exit would wait a second for the race detector, and Stop with it
	}
}

// watch waits for the end of the guest, or of codemode, which is the guest's end.
func watch() {
	// What codemode's own parent left open is nobody's to hold.
	_ = unix.CloseRange(aliveFD+1, 1<<31-1, 0)
	wait := []unix.PollFd{{Fd: guestFD, Events: unix.POLLIN}, {Fd: aliveFD, Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(wait, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || wait[0].Revents == 0 {
			_ = unix.PidfdSendSignal(guestFD, unix.SIGKILL, nil, 0)
		}
		return
	}
}

// A Warden watches over one guest until Stop.
type Warden struct {
	cmd   *exec.Cmd
	alive *os.File
}

// Start starts the warden of the process that pidfd stands for. The caller calls Stop.
func Start(pidfd int) (*Warden, error) {
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
		Path: "/proc/self/exe", Args: []string{Name}, Env: []string{"GOMAXPROCS=1"},
		ExtraFiles:  []*os.File{guestFile, r},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // away from the terminal and its signals
	}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("starting the sandbox's warden: %w", err)
	}
	return &Warden{cmd, w}, nil
}

// Stop ends the warden, and with it a guest that is still there, and waits for it.
func (w *Warden) Stop() {
	w.alive.Close()
	_ = w.cmd.Wait() // its exit says nothing
}
