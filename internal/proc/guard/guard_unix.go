//go:build unix

package guard

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// orphanGrace is what a server gets between the end of its input and SIGTERM, and again between
	// SIGTERM and SIGKILL, when codemode has died. Most end at the end of their input.
	orphanGrace = 500 * time.Millisecond

	// giveUp bounds the wait for a descendant that cannot be killed (another user's, or in the
	// kernel's hands), so that a guard never stays for its sake.
	giveUp = 5 * time.Second
)

func init() {
	if len(os.Args) > 1 && os.Args[0] == Name {
		// PDEATHSIG follows the thread that forks, and init runs on the main thread.
		runtime.LockOSThread()
		run(os.Args[1:])
		os.Exit(0)
	}
}

// family is the command a guard runs and everything that descends from it.
type family struct {
	leader int         // process id and process group id of the command
	ended  atomic.Bool // the command has ended; others may still have to
}

func run(argv []string) {
	closeOnExec()
	report := os.NewFile(reportFD, "report")
	stops := make(chan os.Signal, 4)
	// Caught, not ignored: an ignored signal would stay ignored in the command.
	signal.Notify(stops, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	adoptOrphans()

	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   commandAttr(),
	})
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		fmt.Fprintln(report, Failed, int(errno))
		return
	}
	leaveStreams()
	fmt.Fprintln(report, Started, pid)

	f := &family{leader: pid}
	go f.handleStops(stops)
	status := f.reap()
	if status.Signaled() {
		fmt.Fprintln(report, Killed, int(status.Signal()))
	} else {
		fmt.Fprintln(report, Exited, status.ExitStatus())
	}
}

// reap collects the family until nobody is left and returns how the command itself ended. The
// command's end is the family's: processes that are still there are killed.
func (f *family) reap() (status syscall.WaitStatus) {
	block := true
	for {
		options := syscall.WNOHANG
		if block {
			options = 0
		}
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, options, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil: // ECHILD
			return status
		case pid == 0: // some are left
			killChildren()
			block = true
			continue
		case pid == f.leader:
			status = ws
			f.ended.Store(true)
			f.signal(syscall.SIGKILL)
			time.AfterFunc(giveUp, func() { os.Exit(1) })
		}
		// The dead one's children are ours now. After the command they are to be killed: see whether there are any.
		block = !f.ended.Load()
	}
}

// signal reaches the process group; that it is gone already is no error.
func (f *family) signal(sig syscall.Signal) { _ = syscall.Kill(-f.leader, sig) }

// kill ends the command, and so the family: reap kills the others.
func (f *family) kill() {
	if !f.ended.Load() {
		f.signal(syscall.SIGKILL)
		_ = syscall.Kill(f.leader, syscall.SIGKILL) // it may have left its own group
		time.AfterFunc(giveUp, func() { os.Exit(1) })
	}
}

// handleStops does what codemode says until it says nothing any more.
func (f *family) handleStops(stops <-chan os.Signal) {
	commands := make(chan byte)
	go func() {
		defer close(commands)
		control := os.NewFile(controlFD, "control")
		var b [1]byte
		for {
			if n, err := control.Read(b[:]); n == 0 || err != nil {
				return
			}
			commands <- b[0]
		}
	}()
	for {
		select {
		case c, ok := <-commands:
			switch {
			case !ok:
				f.wind()
				return
			case c == Terminate:
				f.signal(syscall.SIGTERM)
			case c == Kill:
				f.kill()
			}
		case <-stops:
			f.wind()
			return
		}
	}
}

// wind ends the family without codemode: its input has ended with codemode, so wait, SIGTERM, wait, SIGKILL.
func (f *family) wind() {
	time.Sleep(orphanGrace)
	f.signal(syscall.SIGTERM)
	time.Sleep(orphanGrace)
	f.kill()
}

// leaveStreams gives up the command's streams, so that their other ends see the command's end.
func leaveStreams() {
	null, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil {
			_ = syscall.Close(fd)
			continue
		}
		_ = dup(null, fd)
	}
}
