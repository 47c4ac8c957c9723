package watchdog

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// realTimeShare is which part of a processor a watch may take before all others, and realTimeBurst what it may
	// take of that at once. What a guest makes it cost beyond that, the guest's neighbours share with it as with any
	// program.
	realTimeShare = 20
	realTimeBurst = 50 * time.Millisecond
)

// priority is that of the thread of a watch: beside guests that keep all processors busy it has to get one soon.
type priority struct {
	left     time.Duration // that it may take so
	at       time.Time     // when that was found out
	spent    time.Duration // of processor time until then
	realTime bool
}

// RaisePriority has the thread that calls, and will call Look, come before others, as far as that is allowed.
func (w *Watch) RaisePriority() {
	w.priority = &priority{left: realTimeBurst, at: time.Now(), spent: ThreadTime(), realTime: true}
	setRealTime(true)
}

// account decides which class the thread has until the next look. A nil priority stays what it is.
func (p *priority) account(now time.Time, spent time.Duration) {
	if p == nil {
		return
	}
	p.left += now.Sub(p.at)/realTimeShare - (spent - p.spent)
	p.left = max(-realTimeBurst, min(p.left, realTimeBurst))
	p.at, p.spent = now, spent
	p.set(p.left > 0)
}

func (p *priority) set(realTime bool) {
	if p != nil && p.realTime != realTime {
		p.realTime = realTime
		setRealTime(realTime)
	}
}

// setRealTime gives this thread a real-time class or takes it back. Where that is not allowed, it gets short slices,
// whose turn comes sooner (Linux 6.12).
func setRealTime(on bool) {
	real := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	if on && unix.SchedSetAttr(0, &real, 0) == nil {
		return
	}
	short := unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: uint64(100 * time.Microsecond),
	}
	_ = unix.SchedSetAttr(0, &short, 0) // an older kernel takes no notice
}

// ThreadTime is the processor time of this thread.
func ThreadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // which each thread has
	return time.Duration(t.Nano())
}
