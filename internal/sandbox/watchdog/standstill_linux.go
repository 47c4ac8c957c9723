package watchdog

import (
	"bytes"
	"slices"
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

// A handle is a process of the guest, opened so that no number that is used again is sent a signal. It is kept from
// one look to the next: who is known already can be stopped at once.
type handle struct {
	pidfd    int
	listed   int   // the last listing it was in
	sure     bool  // it was in one after it was opened, so it is of the guest
	apart    bool  // it was stopped by another, and is for that one to have go on
	first    int64 // what it held when all were to stop, or when it was opened
	last     int64
	tables   int64 // of its address space
	signaled bool  // by us, so it is for us to have it go on
	stood    bool  // it was seen to
	resumed  int
	switches int64 // process.switches of its last listing
	asleep   bool  // it has not run since the one before
	mappings int64 // that it had when they were counted last and it has not run since; else 0
}

// list lists the guest's processes, and opens those that are new.
func (w *Watch) list() []process {
	w.listings++
	w.listed = time.Now()
	list := tree(w.guest.PID, w.guest.Shared)
	w.addUnseen(list)
	for _, p := range list {
		h := w.handles[p.pid]
		if h == nil {
			fd, err := unix.PidfdOpen(p.pid, 0)
			if err != nil {
				continue // it has just ended
			}
			h = &handle{pidfd: fd, first: p.memory}
			w.handles[p.pid] = h
		} else {
			h.sure = true
		}
		h.listed, h.last, h.tables, h.apart = w.listings, p.memory, p.tables, p.stopped && !h.signaled
		if h.asleep = p.switches > 0 && p.switches == h.switches; !h.asleep {
			h.mappings = 0
		}
		h.switches = p.switches
	}
	return list
}

// How counting a guest ends.
const (
	counted     = iota // or more than the limit has been
	moved              // it does not stand still, and cannot be counted
	interrupted        // something else is due
)

// exactly counts what the guest's processes hold, page by page, while they stand still, and stops counting above
// limit.
func (w *Watch) exactly(limit int64) (total int64, how int) {
	for _, h := range w.handles {
		h.first = h.last
	}
	if !w.stand() {
		return 0, moved
	}
	w.priority.set(false) // nothing is taken meanwhile, however long it takes
	list := w.list()
	faults := pageFaults()
	records := &mapped{at: time.Now()}
	total = w.inherited(list)
	for _, p := range distinct(list) {
		total += p.exactly(w.guest.Shared) + p.copies
		if left := limit - total - records.total; left >= 0 {
			size := w.mappingSize(p)
			records.total += size * w.countMappings(p, left/size)
		}
		if total+records.total > limit {
			return total + records.total, counted
		}
		if w.due() {
			return total, interrupted
		}
		if time.Since(w.listed) > stillEvery && !w.stop(w.list()) && w.resists() {
			return total, moved
		}
	}
	w.counted, w.mapped = nil, records
	if faults >= 0 {
		w.counted = &count{total, tables(list), faults}
	}
	return total + records.total, counted
}

// stand has all of the guest stand still, and waits for the memory of those that have just ended.
func (w *Watch) stand() bool {
	pause := unix.NsecToTimespec((shortest / 10).Nanoseconds())
	for began := time.Now(); time.Since(began) < stopTime; _ = unix.Nanosleep(&pause, nil) {
		list := w.list()
		if w.stop(list) && (!slices.ContainsFunc(list, process.ends) || time.Since(began) > stopTime/2) {
			return true
		}
		if w.grown() > w.guest.Limit/4 || w.resists() {
			return false
		}
	}
	return false
}

// stop stops processes, and tells whether all stand still.
func (w *Watch) stop(list []process) bool {
	still := true
	for _, p := range list {
		if p.ending {
			continue // it takes nothing any more
		}
		h := w.handles[p.pid]
		if h == nil || !h.sure {
			still = false // it is stopped when it is listed again
			continue
		}
		switch stands := p.stands(); {
		case stands == moves || stands == waits && !h.signaled:
			still = still && stands == waits
			if h.stood {
				h.stood = false
				h.resumed++
			}
			w.signal(p.pid, h, unix.SIGSTOP)
		case stands == stops:
			h.stood = h.signaled
		}
	}
	return still
}

// stopKnown stops whom the last listing has found, without another: that takes time, in which memory is taken.
func (w *Watch) stopKnown() {
	for pid, h := range w.handles {
		if h.sure && !h.apart {
			w.signal(pid, h, unix.SIGSTOP)
		}
	}
}

// signal sends a signal. Who has ended is forgotten: its number may be another's of the guest.
func (w *Watch) signal(pid int, h *handle, sig unix.Signal) {
	h.signaled = true
	if unix.PidfdSendSignal(h.pidfd, sig, nil, 0) == unix.ESRCH {
		w.forget(pid, h)
	}
}

func (w *Watch) forget(pid int, h *handle) {
	unix.Close(h.pidfd)
	delete(w.handles, pid)
}

// grown is what the processes have taken since they were to stop.
func (w *Watch) grown() (total int64) {
	for _, h := range w.handles {
		total += max(0, h.last-h.first)
	}
	return total
}

// resists tells whether a process goes on again and again.
func (w *Watch) resists() bool {
	for _, h := range w.handles {
		if h.resumed > maxResumed {
			return true
		}
	}
	return false
}

// release sends a signal to all that were stopped, and to all there are if it kills.
func (w *Watch) release(sig unix.Signal) {
	for pid, h := range w.handles {
		if h.signaled || sig == unix.SIGKILL && h.sure {
			w.signal(pid, h, sig)
		}
		h.signaled, h.stood, h.resumed = false, false, 0
	}
	for pid, h := range w.handles {
		if h.listed != w.listings {
			w.forget(pid, h)
		}
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
			if shares = !p.ending && sharesMemory(p.tid, q.tid); shares {
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
