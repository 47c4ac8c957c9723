package watchdog

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// urgentShare is which part of a processor a watch may take before all others, and urgentMost what it may do of
	// that at once. What a guest makes it cost beyond that, the guest's neighbours share with it as with any program.
	urgentShare = 20
	urgentMost  = 50 * time.Millisecond
)

// urgency is whether the watch comes before all other programs: beside guests that keep all processors busy it has to
// get one soon.
type urgency struct {
	left  time.Duration // that it may take so
	at    time.Time     // when that was found out
	spent time.Duration // of processor time until then
	first bool
}

// Urgent has the thread that calls, and will call Look, come before others, as far as that is allowed.
func (w *Watch) Urgent() {
	w.urgency = &urgency{left: urgentMost, at: time.Now(), spent: threadTime(), first: true}
	comeFirst(true)
}

// account decides who comes first until the next look. A nil urgency has never come first.
func (u *urgency) account(now time.Time, spent time.Duration) {
	if u == nil {
		return
	}
	u.left += now.Sub(u.at)/urgentShare - (spent - u.spent)
	u.left = max(-urgentMost, min(u.left, urgentMost))
	u.at, u.spent = now, spent
	u.set(u.left > 0)
}

func (u *urgency) set(first bool) {
	if u != nil && u.first != first {
		u.first = first
		comeFirst(first)
	}
}

// comeFirst is by a real-time class where that is allowed, else by short slices, whose turn comes sooner (Linux 6.12).
func comeFirst(first bool) {
	real := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	if first && unix.SchedSetAttr(0, &real, 0) == nil {
		return
	}
	short := unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: uint64(100 * time.Microsecond),
	}
	_ = unix.SchedSetAttr(0, &short, 0) // an older kernel takes no notice
}

// threadTime is the processor time of this thread.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // which each thread has
	return time.Duration(t.Nano())
}
