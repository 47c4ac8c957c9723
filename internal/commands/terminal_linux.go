package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// terminalLock keeps the processes of codemode that share a terminal from writing over each other's questions. It locks
// bytes of the terminal's device, by an open file of its own (fcntl(2), "Open file description locks"): the kernel
// gives those back when the process ends, and none of them is inherited. A nil one locks nothing.
type terminalLock struct {
	fd      int
	stopKey byte // that would stop the process; 0 is none
	foreign bool // somebody has held it for longer than a question stands
}

// The bytes, and who locks them.
const (
	turnByte  = iota // a question, as long as it stands: nobody else begins to write or read meanwhile
	useByte          // shared by all that write, for each time; a question, once nobody does
	modesByte        // shared by processes whose programs may have set modes of the terminal, until they end
)

const (
	terminalPoll = 20 * time.Millisecond
	// standTime is how long a question keeps others waiting, after which it is put again.
	standTime = 10 * time.Minute
	// finishTime is how long a write that is under way may take: a terminal can be stopped (Ctrl-S), a process, too.
	finishTime = 5 * time.Second
)

// lockTerminal prepares the lock of the terminal that a stream is; nil where it is none, or cannot be locked.
func lockTerminal(stream any) *terminalLock {
	f, ok := stream.(*os.File)
	if !ok || !isTerminal(f) {
		return nil
	}
	// Not the stream's own file, which a shell shares with all that it starts, nor /dev/tty, which is all terminals.
	id, err := unix.IoctlGetUint32(int(f.Fd()), unix.TIOCGDEV)
	if err != nil {
		return nil
	}
	device := deviceName(unix.Major(uint64(id)), unix.Minor(uint64(id)))
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	var found unix.Stat_t
	if err := unix.Fstat(fd, &found); err != nil || found.Rdev != uint64(id) {
		_ = unix.Close(fd)
		return nil
	}
	return &terminalLock{fd: fd}
}

// deviceName is where a terminal is in the file system. Pseudoterminals have eight major numbers of their own, and are
// not in /sys: Linux's "devices.txt".
func deviceName(major, minor uint32) string {
	if major >= 136 && major <= 143 {
		return filepath.Join("/dev/pts", strconv.Itoa(int(minor)))
	}
	link, err := os.Readlink(fmt.Sprintf("/sys/dev/char/%d:%d", major, minor))
	if err != nil {
		return ""
	}
	return filepath.Join("/dev", filepath.Base(link))
}

func (l *terminalLock) close() {
	if l != nil {
		_ = unix.Close(l.fd)
	}
}

// set locks or unlocks a byte, or says that another process has locked it.
func (l *terminalLock) set(kind int16, at int64) error {
	return unix.FcntlFlock(uintptr(l.fd), unix.F_OFD_SETLK, byteLock(kind, at))
}

// locked says whether others' locks keep a byte from being locked so.
func (l *terminalLock) locked(kind int16, at int64) bool {
	found := byteLock(kind, at)
	err := unix.FcntlFlock(uintptr(l.fd), unix.F_OFD_GETLK, found)
	return err == nil && found.Type != unix.F_UNLCK
}

func byteLock(kind int16, at int64) *unix.Flock_t {
	return &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: at, Len: 1}
}

// taken says that a lock is another's.
func taken(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) }

// begin waits while a question of another process stands, and keeps others from putting one until end.
func (l *terminalLock) begin() {
	l.waitWhile(func() bool { return l.asked() || taken(l.set(unix.F_RDLCK, useByte)) })
}

// asked says whether a question of another process stands.
func (l *terminalLock) asked() bool { return l.locked(unix.F_RDLCK, turnByte) }

// waitUnasked waits while it does. What may be stopped meanwhile, as a read of the terminal, has no lock.
func (l *terminalLock) waitUnasked() { l.waitWhile(l.asked) }

// waitWhile waits while others have a lock. Whoever has it for longer than a question stands is none.
func (l *terminalLock) waitWhile(others func() bool) {
	if l == nil || l.foreign {
		return
	}
	for began := time.Now(); others(); {
		if time.Since(began) > standTime+time.Minute {
			l.foreign = true
			return
		}
		<-time.After(terminalPoll)
	}
}

func (l *terminalLock) end() {
	if l != nil {
		_ = l.set(unix.F_UNLCK, useByte)
	}
}

// setsModes says that this process may set modes of the terminal from now on.
func (l *terminalLock) setsModes() {
	if l != nil {
		_ = l.set(unix.F_RDLCK, modesByte)
	}
}

// moded says whether another process may have set modes of the terminal.
func (l *terminalLock) moded() bool { return l != nil && l.locked(unix.F_WRLCK, modesByte) }

// hold waits for the turn of a question, and until nobody writes. The context that it returns ends with ctx,
// or when others are to have the terminal, of which yields knows.
func (l *terminalLock) hold(ctx context.Context) (_ context.Context, release func(), err error) {
	if l == nil {
		return ctx, func() {}, nil
	}
	// In the background, tcdrain stops the process, as a read would (termios(3), SIGTTOU): not while it has the lock.
	if err := unix.IoctlSetInt(l.fd, unix.TCSBRK, 1); err != nil {
		return ctx, nil, fmt.Errorf("%w: %w", errBackground, err)
	}
	if err := l.take(ctx); err != nil {
		return ctx, nil, err
	}
	modes, err := l.catchStop()
	if err != nil {
		l.release()
		return ctx, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, standTime, errStood)
	return ctx, func() {
		cancel()
		_ = unix.IoctlSetTermios(l.fd, unix.TCSETS, modes)
		l.release()
	}, nil
}

// catchStop has the key that stops a process (Ctrl-Z) end a line instead, so that nobody is stopped with the lock. It
// returns the modes before. Go cannot have SIGTSTP stop the process again once it was caught (os/signal).
func (l *terminalLock) catchStop() (*unix.Termios, error) {
	if group, err := unix.IoctlGetInt(l.fd, unix.TIOCGPGRP); err != nil || group != unix.Getpgrp() {
		return nil, errBackground
	}
	before, err := unix.IoctlGetTermios(l.fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	modes := *before
	l.stopKey = modes.Cc[unix.VSUSP]
	modes.Cc[unix.VEOL], modes.Cc[unix.VSUSP] = l.stopKey, 0 // which is no key
	return before, unix.IoctlSetTermios(l.fd, unix.TCSETS, &modes)
}

// stopped says whether a line that was typed at a question ends with the key that catchStop has caught.
func (l *terminalLock) stopped(line string) bool {
	return l != nil && l.stopKey != 0 && strings.HasSuffix(line, string(rune(l.stopKey)))
}

var errBackground = errors.New("the user is not asked: the terminal is another program's now")

// yields leaves the terminal to others where err says so. The question is put again then.
func (l *terminalLock) yields(err error) bool {
	switch {
	case errors.Is(err, errStopped):
		_ = unix.Kill(0, unix.SIGTSTP) // to all that the key would have stopped; to none where none could be continued
	case !errors.Is(err, errStood):
		return false
	}
	<-time.After(5 * terminalPoll) // for a signal to come, and for others to find that they may
	return true
}

// take locks the turn, by which nobody begins to write, and waits for those that have begun.
func (l *terminalLock) take(ctx context.Context) error {
	if err := l.await(ctx, turnByte); err != nil {
		return err
	}
	finish, cancel := context.WithTimeoutCause(ctx, finishTime, errUnfinished)
	defer cancel()
	if err := l.await(finish, useByte); err != nil {
		l.release()
		return err
	}
	return nil
}

var errUnfinished = errors.New(
	"the user is not asked while another codemode is in the middle of its output on the terminal; " +
		"perhaps it was stopped: continue it (fg) or end it",
)

func (l *terminalLock) await(ctx context.Context, at int64) error {
	for taken(l.set(unix.F_WRLCK, at)) {
		select {
		case <-time.After(terminalPoll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (l *terminalLock) release() {
	_ = l.set(unix.F_UNLCK, useByte)
	_ = l.set(unix.F_UNLCK, turnByte)
}
