package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stdio is what a guest has as descriptors 0 to 5, and the host's ends of it.
type stdio struct {
	guest        [3]*os.File // 0, 1 and 2
	guestChannel *os.File    // 3
	tails        [2]*os.File // 4 and 5: the read ends of 1 and 2. The host keeps them for what is left there
	channel      *channel

	input *relay // feeds guest[0]; nil when that is empty
}

// openStdio opens everything. stdin stays the caller's: the guest gets a pipe that is fed from it,
// because a descriptor of a file or terminal could be reopened for writing through /proc.
func openStdio(stdin *os.File, lock sync.Locker) (_ *stdio, err error) {
	p := &stdio{}
	defer func() {
		if err != nil {
			p.closeGuest()
			closeFiles(p.tails[:]...)
			if p.channel != nil {
				p.channel.Close()
			}
		}
	}()
	for i := range p.tails {
		if p.tails[i], p.guest[i+1], err = blockingPipe(); err != nil {
			return nil, err
		}
		if os.Geteuid() == 0 {
			// Or the guest could not open its own /dev/stdout. A root that has but one id cannot.
			_ = p.guest[i+1].Chown(guestID, guestID)
		}
	}
	if p.channel, p.guestChannel, err = newChannel(); err != nil {
		return nil, err
	}
	if stdin == nil {
		p.guest[0], err = os.Open(os.DevNull)
		return p, err
	}
	p.guest[0], p.input, err = newRelay(stdin, lock)
	return p, err
}

// forGuest are the first n descriptors of the guest.
func (p *stdio) forGuest(n int) []*os.File {
	all := []*os.File{p.guest[0], p.guest[1], p.guest[2], p.guestChannel, p.tails[0], p.tails[1]}
	return all[:n:n]
}

// closeGuest closes what the child has by now.
func (p *stdio) closeGuest() {
	closeFiles(append(p.guest[:], p.guestChannel)...)
}

// blockingPipe makes a pipe whose ends are not in non-blocking mode. The guest shares that mode.
func blockingPipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe"), nil
}

// maxTail bounds what is kept of the output a dead guest never sent.
const maxTail = 64 << 10

// readTail returns the last bytes in a pipe that no writer is left of.
func readTail(f *os.File) []byte {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	var tail []byte
	buf := make([]byte, maxTail)
	_ = conn.Control(func(fd uintptr) {
		// Should a writer be left after all, it must not hold up the end of the sandbox.
		if unix.SetNonblock(int(fd), true) != nil {
			return
		}
		for {
			n, err := unix.Read(int(fd), buf)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if n <= 0 {
				return
			}
			tail = append(tail, buf[:n]...)
			tail = tail[max(0, len(tail)-maxTail):]
		}
	})
	return tail
}

// A relay copies a caller's file to a guest's standard input until either ends or it is stopped.
// A read of a terminal cannot be interrupted, so it reads only what poll(2) says is there.
type relay struct {
	from         syscall.RawConn // its mode, blocking or not, stays what it is
	lock         sync.Locker     // see Spec.StdinLock
	to           *os.File
	stopR, stopW *os.File
}

func newRelay(from *os.File, lock sync.Locker) (guest *os.File, _ *relay, err error) {
	if lock == nil {
		lock = new(sync.Mutex)
	}
	conn, err := from.SyscallConn()
	if err != nil {
		return nil, nil, fmt.Errorf("reading standard input: %w", err)
	}
	stopR, stopW, err := blockingPipe()
	if err != nil {
		return nil, nil, err
	}
	// The host's end is in the poller, so that a write the guest never reads ends with close.
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		closeFiles(stopR, stopW)
		return nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	_ = unix.SetNonblock(fds[1], true) // it is a pipe
	guest = os.NewFile(uintptr(fds[0]), "guest's input")
	to := os.NewFile(uintptr(fds[1]), "input")
	return guest, &relay{from: conn, lock: lock, to: to, stopR: stopR, stopW: stopW}, nil
}

// run copies. It returns after stop at the latest.
func (r *relay) run() {
	defer r.to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := r.read(buf)
		if n > 0 {
			if _, err := r.to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// read reads what is there, waiting for it or for the stop.
func (r *relay) read(buf []byte) (n int, err error) {
	cerr := r.from.Control(func(fd uintptr) {
		n, err = r.readUnlessStopped(int(fd), int(r.stopR.Fd()), buf)
	})
	if cerr != nil {
		return 0, cerr
	}
	return n, err
}

func (r *relay) readUnlessStopped(fd, stop int, buf []byte) (int, error) {
	for {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(stop), Events: unix.POLLIN}}
		_, err := unix.Poll(poll, -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case poll[1].Revents != 0:
			return 0, io.EOF
		case inBackground(fd): // where to read would stop us (SIGTTIN), and nobody would end the guest
			_, _ = unix.Poll(poll[1:], int(backgroundAgain.Milliseconds()))
			continue
		}
		n, err := r.readLocked(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// backgroundAgain is how often it is found out whether codemode has a terminal to itself now.
const backgroundAgain = 200 * time.Millisecond

// inBackground says whether a file is the terminal of this session, and what is typed there is another job's.
func inBackground(fd int) bool {
	job, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && job != unix.Getpgrp()
}

// readLocked reads what is still there once it has the lock, and is never left waiting for more.
func (r *relay) readLocked(fd int, buf []byte) (int, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); n == 0 || err != nil {
		return 0, cmp.Or(err, error(unix.EAGAIN))
	}
	return unix.Read(fd, buf)
}

// stop makes run end.
func (r *relay) stop() { closeFiles(r.stopW, r.to) }

// free closes what is left when run has ended, or never began.
func (r *relay) free() { closeFiles(r.stopW, r.to, r.stopR) }
