package sandbox

import (
	"runtime"
	"sync"
	"time"

	"codemode/internal/sandbox/watchdog"
)

// What the counts of guests take of the processors. A guest of 110 processes that have 240 files each is counted in
// 0.2 s of processor time: in one piece, codemode would have nobody else served meanwhile.
const (
	paceLongest = time.Millisecond // in a row
	paceOwn     = 8                // one guest's is one part in so many of a processor
	paceAll     = 4                // that of all guests together is one part in so many
)

// A pace is what all counts of guests keep together: one at a time goes on, with rests in between.
type pace struct {
	turn sync.Mutex
	next time.Time // when one may go on
}

// counting is the pace of this process.
var counting pace

// A walk is the count of one guest at a pace. It belongs to one goroutine, which has a thread of its own meanwhile.
type walk struct {
	pace  *pace
	next  time.Time // when it may go on
	began time.Time
	spent time.Duration // processor time of its thread then
}

// begin waits for the turn of a walk, which calls end.
func (w *walk) begin() {
	waitUntil(w.next)
	w.pace.turn.Lock()
	waitUntil(w.pace.next)
	runtime.LockOSThread()
	w.began, w.spent = time.Now(), watchdog.ThreadTime()
}

// step is called all through a walk, and rests where that is due.
func (w *walk) step() {
	if watchdog.ThreadTime()-w.spent >= paceLongest {
		w.end()
		w.begin()
	}
}

func (w *walk) end() {
	spent := watchdog.ThreadTime() - w.spent
	runtime.UnlockOSThread()
	w.next = w.began.Add(paceOwn * spent)
	w.pace.next = w.began.Add(paceAll * spent)
	w.pace.turn.Unlock()
}

func waitUntil(t time.Time) {
	if left := time.Until(t); left > 0 {
		<-time.After(left)
	}
}
