package watchdog

import (
	"bytes"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stopTime is how long a guest may take to stand still. A system call that no signal interrupts, such as one
	// that reads a large file, takes some tenths of a second.
	stopTime = time.Second

	// stillEvery is how often it is made sure, while a guest is counted, that nobody has gone on.
	stillEvery = 10 * time.Millisecond

	// maxResumed is how often a process may have been sent SIGCONT by another that was not stopped yet. Nobody does
	// it to one that is counted but to gain memory meanwhile: a process can have a timer send it.
	maxResumed = 3
)

// A standstill is a guest that is stopped.
type standstill struct {
	handles map[int]*handle // by process
}

// A handle is a process that was of the guest when it was opened or later, so that no number that is used again is
// sent a signal.
type handle struct {
	pidfd    int
	first    int64 // what it held when it was opened
	last     int64
	signaled bool // by us, so it is for us to have it go on
	stood    bool // it was seen to
	resumed  int
}

// exactly counts what the guest's processes hold, page by page, while they stand still, and stops counting above
// limit. A guest that does not stand still cannot be counted.
func (w *Watch) exactly(limit int64) (total int64, still bool) {
	w.stopped = &standstill{handles: map[int]*handle{}}
	if !w.stand() {
		return 0, false
	}
	list, looked := w.list(), time.Now()
	faults := pageFaults()
	for _, p := range distinct(list) {
		if total += p.exactly(w.guest.Shared); total > limit {
			return total, true
		}
		if time.Since(looked) > stillEvery {
			if !w.stopped.stop(w.list()) && w.stopped.resists() {
				return total, false
			}
			looked = time.Now()
		}
	}
	w.counted = nil
	if faults >= 0 {
		w.counted = &count{total, tables(list), faults}
	}
	return total, true
}

// stand has all of the guest stand still.
func (w *Watch) stand() bool {
	pause := unix.NsecToTimespec((shortest / 10).Nanoseconds())
	for began := time.Now(); time.Since(began) < stopTime; _ = unix.Nanosleep(&pause, nil) {
		if w.stopped.stop(w.list()) {
			return true
		}
		if w.stopped.grown() > w.guest.Limit/4 || w.stopped.resists() {
			return false
		}
	}
	return false
}

func (w *Watch) list() []process { return tree(w.guest.PID, w.guest.Shared) }

// stop stops processes, and tells whether all stand still. Each is opened first and sent a signal the next time,
// when it is still of the guest.
func (s *standstill) stop(list []process) bool {
	still := true
	for _, p := range list {
		h := s.handles[p.pid]
		if h == nil {
			fd, err := unix.PidfdOpen(p.pid, 0)
			if err != nil {
				continue // it has just ended
			}
			s.handles[p.pid] = &handle{pidfd: fd, first: p.memory, last: p.memory}
			still = false
			continue
		}
		h.last = p.memory
		switch stands := p.stands(); {
		case stands == moves || stands == waits && !h.signaled:
			still = still && stands == waits
			if h.stood {
				h.stood = false
				h.resumed++
			}
			h.signaled = true
			_ = unix.PidfdSendSignal(h.pidfd, unix.SIGSTOP, nil, 0) // it may have ended
		case stands == stops:
			h.stood = h.signaled
		}
	}
	return still
}

// grown is what the processes have taken since they were to stop.
func (s *standstill) grown() (total int64) {
	for _, h := range s.handles {
		total += max(0, h.last-h.first)
	}
	return total
}

// resists tells whether a process goes on again and again.
func (s *standstill) resists() bool {
	for _, h := range s.handles {
		if h.resumed > maxResumed {
			return true
		}
	}
	return false
}

// end sends a signal to all that were stopped, and to all there are if it kills.
func (s *standstill) end(sig unix.Signal) {
	for _, h := range s.handles {
		if h.signaled || sig == unix.SIGKILL {
			_ = unix.PidfdSendSignal(h.pidfd, sig, nil, 0) // it may have ended
		}
		unix.Close(h.pidfd)
	}
}

// What a process does, which is what that of its threads does that does most.
const (
	stops = iota // it has been stopped, or has ended
	waits        // in the kernel, for what no signal ends: a disk, or a child that shares its memory (vfork)
	moves
)

func (p process) stands() int {
	most := stateOf(p.pid, p.tid)
	for _, tid := range p.threads {
		most = max(most, stateOf(p.pid, tid))
	}
	return most
}

// stateOf is what a thread does; proc_pid_stat(5).
func stateOf(pid, tid int) int {
	b, err := read(procFile(pid, "task/"+strconv.Itoa(tid)+"/stat"))
	if err != nil {
		return stops // it has ended
	}
	rest := bytes.TrimSpace(b[bytes.LastIndexByte(b, ')')+1:])
	if len(rest) == 0 {
		return stops
	}
	switch rest[0] {
	case 'T', 't', 'Z', 'X':
		return stops
	case 'D':
		return waits
	}
	return moves
}

// distinct leaves one process of those that share an address space, as a child does with its parent until it executes
// something (vfork). While they stand still, they have the same figure.
func distinct(list []process) (kept []process) {
	same := map[int64][]process{}
	for _, p := range list {
		shares := false
		for _, q := range same[p.memory] {
			if shares = sharesMemory(p.tid, q.tid); shares {
				break
			}
		}
		if !shares {
			same[p.memory] = append(same[p.memory], p)
			kept = append(kept, p)
		}
	}
	return kept
}

// sharesMemory tells whether two threads have one address space. Where the kernel will not tell, they have not.
func sharesMemory(a, b int) bool {
	const kcmpVM = 1 // KCMP_VM, linux/kcmp.h
	r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	return errno == 0 && r == 0
}
