package bridge

import (
	"context"
	"runtime"
	"time"

	"codemode/internal/fair"
	"codemode/internal/guest"
)

// What a guest says costs codemode time of the processors that all sessions and tenants share, and codemode goes before
// any guest. So one guest has no more done than half of the processors can do; several together have half of that, each
// an equal part. What a message costs is estimated, for it is done in several places.
const (
	costOfMessage = 20 * time.Microsecond
	costOfByte    = 10 * time.Nanosecond
	costOfCall    = 200 * time.Microsecond
	costOfOwn     = time.Millisecond      // of what codemode answers itself, a search or a list, at least
	costOfDisk    = 10 * time.Millisecond // of what is looked up on the disk for it
	costOfStart   = 80 * time.Millisecond // of a sandbox with its Python

	paceAhead = 500 * time.Millisecond // that a guest may have done before it waits
)

// pace is what a guest has had done lately.
type pace struct{ fair.Pace }

// keep waits until a message of a guest's may be worked on, where so many sessions have runs.
func (p *pace) keep(ctx context.Context, m guest.Message, sessions int) error {
	p.count(costOf(m), sessions)
	return p.Wait(ctx, paceAhead)
}

// count counts work that is done for a guest.
func (p *pace) count(cost time.Duration, sessions int) {
	part := 2
	if sessions > 1 {
		part = 4 * sessions
	}
	p.Count(cost * time.Duration(part) / time.Duration(runtime.GOMAXPROCS(0)))
}

// costOf is the time that codemode has work with a message.
func costOf(m guest.Message) time.Duration {
	cost := costOfMessage + costOfByte*time.Duration(len(m.Params)+len(m.Result))
	switch m.Method {
	case guest.MethodToolCall, guest.MethodRequest, guest.MethodStdin:
		return cost + costOfCall
	case guest.MethodPackages, guest.MethodAddServer, guest.MethodSave:
		return cost + costOfDisk
	}
	if answersItself(m) {
		return cost + costOfOwn
	}
	return cost
}

// answersItself says whether codemode makes the answer to a message, by itself and at once.
func answersItself(m guest.Message) bool {
	switch m.Method {
	case guest.MethodToolCall, guest.MethodRequest, guest.MethodStdin:
		return false
	}
	return m.IsRequest()
}

// answering enters the fair queue for what codemode answers itself, and counts what that takes beyond its estimate: how
// long a search or a list takes depends on the query, and on what servers have and code has left.
func (l *live) answering() (done func()) {
	decoded := l.decode(longText + 1)
	began := time.Now()
	return func() {
		decoded()
		l.pace.count(max(0, time.Since(began)-costOfOwn), l.bridge.readings.runs.Users())
	}
}

// suggesting is answering for saying which tool was meant, by comparing with each that a server has: its time counts
// three times, since nobody needs that often and others' runs wait for it.
func (l *live) suggesting() (done func()) {
	answered, began := l.answering(), time.Now()
	return func() {
		answered()
		l.took(2 * time.Since(began))
	}
}

// paced does something for a guest, once that may have more done. It counts as long as it takes, if others have runs.
func (l *live) paced(ctx context.Context, do func() error) error {
	if err := l.pace.Wait(ctx, paceAhead); err != nil {
		return err
	}
	began := time.Now()
	err := do()
	l.took(time.Since(began))
	return err
}

// took counts what was done for a guest, where others have runs.
func (l *live) took(cost time.Duration) {
	if sessions := l.bridge.readings.runs.Users(); sessions > 1 {
		l.pace.count(cost, sessions)
	}
}
