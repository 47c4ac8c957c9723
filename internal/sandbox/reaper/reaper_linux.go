package reaper

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"codemode/internal/sandbox/watchdog"

	"golang.org/x/sys/unix"
)

func init() {
	if len(os.Args) == 2 && os.Args[0] == Name {
		grace, _ := time.ParseDuration(os.Args[1]) // by Start, below
		code := 0
		if err := watch(grace); err != nil {
			code = 1
		}
		syscall.Exit(code) // at once: os.Exit would wait a second for the race detector, and Stop with it
	}
}

// watch waits for the end of the guest, or of codemode, which after the grace is the guest's end, and looks at the
// guest's memory meanwhile if it is told to. An error leaves the guest alive.
func watch(grace time.Duration) error {
	// Descriptors that codemode has inherited must not be kept open by this process.
	_ = unix.CloseRange(codemodeFD+1, 1<<31-1, 0)
	var dog *watchdog.Watch
	var look, end time.Time // when to look next, and when to end the guest; zero is never
	fds := []unix.PollFd{{Fd: guestFD, Events: unix.POLLIN}, {Fd: codemodeFD, Events: unix.POLLIN}}
	// due tells whether there is something to do that cannot wait until a guest of many processes has been counted.
	due := func() bool {
		n, err := unix.Poll(fds, 0)
		return n > 0 || err == nil && !end.IsZero() && !time.Now().Before(end)
	}
	for {
		if err := poll(fds, look, end); err != nil {
			return err
		}
		if fds[0].Revents != 0 {
			return nil
		}
		if len(fds) == 2 && fds[1].Revents != 0 {
			if guest, ok := told(); ok {
				dog, look = watchdog.Open(guest, due), time.Now()
				dog.RaisePriority()
			} else { // codemode is gone
				fds, end = fds[:1], time.Now().Add(grace)
			}
		}
		if !end.IsZero() && !time.Now().Before(end) {
			kill(dog)
			return nil
		}
		if !look.IsZero() && !time.Now().Before(look) {
			over, next := dog.Look()
			if over {
				_, _ = unix.Write(codemodeFD, []byte{overLimit}) // nobody may be left to tell
				kill(dog)
				return nil
			}
			look = time.Now().Add(next)
		}
	}
}

// poll waits for one of fds, or until the earlier time.
func poll(fds []unix.PollFd, times ...time.Time) error {
	for {
		timeout := (*unix.Timespec)(nil)
		for _, t := range times {
			if t.IsZero() {
				continue
			}
			left := unix.NsecToTimespec(max(0, time.Until(t)).Nanoseconds())
			if timeout == nil || left.Nano() < timeout.Nano() {
				timeout = &left
			}
		}
		_, err := unix.Ppoll(fds, timeout, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// told reads whom to watch; not ok is the end of codemode.
func told() (guest watchdog.Guest, ok bool) {
	b := make([]byte, 64<<10)
	n, err := unix.Read(codemodeFD, b)
	return guest, err == nil && n > 0 && json.Unmarshal(b[:n], &guest) == nil
}

// kill ends the guest. Those that a watch has stopped come before its first process.
func kill(dog *watchdog.Watch) {
	if dog != nil {
		dog.Kill()
	}
	_ = unix.PidfdSendSignal(guestFD, unix.SIGKILL, nil, 0)
}

// A Reaper watches over one guest until Stop.
type Reaper struct {
	conn  *os.File
	pid   int
	ended chan struct{}
	lost  chan struct{}
}

// Start starts the reaper of the process that pidfd stands for, which has that grace when codemode dies. execute sets
// which program becomes one. The caller calls Stop.
func Start(execute func(*exec.Cmd), pidfd int, grace time.Duration) (*Reaper, error) {
	guest, err := unix.FcntlInt(uintptr(pidfd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox's reaper: %w", err)
	}
	guestFile := os.NewFile(uintptr(guest), "guest")
	defer guestFile.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox's reaper: %w", err)
	}
	ours, its := os.NewFile(uintptr(pair[0]), "reaper"), os.NewFile(uintptr(pair[1]), "codemode")
	defer its.Close()
	cmd := &exec.Cmd{
		Args: []string{Name, grace.String()}, Env: []string{"GOMAXPROCS=1"},
		ExtraFiles:  []*os.File{guestFile, its},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // away from the terminal and its signals
	}
	execute(cmd)
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("starting the sandbox's reaper: %w", err)
	}
	w := &Reaper{ours, cmd.Process.Pid, make(chan struct{}), make(chan struct{})}
	go func() { // ends in Stop at the latest
		if cmd.Wait() != nil {
			close(w.lost)
		}
		close(w.ended)
	}()
	return w, nil
}

// Watch has the reaper end the guest when it holds more memory than it may. A reaper that cannot be told has ended.
func (w *Reaper) Watch(guest watchdog.Guest) {
	b, _ := json.Marshal(guest) // of numbers and strings
	_, _ = w.conn.Write(b)
}

// PID is the reaper's process.
func (w *Reaper) PID() int { return w.pid }

// Lost is closed when the reaper has ended and left its guest alive. One that has seen its guest end is not lost.
func (w *Reaper) Lost() <-chan struct{} { return w.lost }

// OverLimit tells of a guest that has ended whether the reaper has ended it for its memory.
func (w *Reaper) OverLimit() bool {
	b := make([]byte, 1)
	n, _, err := unix.Recvfrom(int(w.conn.Fd()), b, unix.MSG_DONTWAIT)
	return err == nil && n == 1 && b[0] == overLimit
}

// Leave has the reaper end as when codemode has died. It waits for nothing.
func (w *Reaper) Leave() {
	if conn, err := w.conn.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
}

// Stop ends the reaper, and waits for it. A guest that is still there ends, too, after its grace.
func (w *Reaper) Stop() {
	w.conn.Close()
	<-w.ended
}
