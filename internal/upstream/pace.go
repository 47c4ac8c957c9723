package upstream

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"codemode/internal/fair"
)

// What a server says that nobody has asked for costs codemode time of the processors that all sessions share. So of one
// server no more is read than a sixteenth of the processors can deal with; of several that say more, a quarter can deal
// with them all. Meanwhile nothing is read of it: its pipe fills, and the server waits. Answers to what it was asked
// cost nothing here. What a message costs is estimated, for it is dealt with in several places.
const (
	costOfLine   = time.Microsecond       // of an event that is none, or of standard error
	costOfRead   = 10 * time.Microsecond  // of standard error
	costOfNotice = 20 * time.Microsecond  // that goes no further than here
	costForSDK   = 100 * time.Microsecond // which decodes it by way of a buffer of 32 KiB (v1.8.0)
	costOfByte   = 10 * time.Nanosecond
	costOfValue  = 200 * time.Nanosecond // in a message: it is looked at, decoded, and thrown away

	partOfServer  = 16
	partOfServers = 4

	// paceAhead is what a server may have said at once: 1,200 lines of a log on two processors, which then passes 1,200
	// of them each second, or 6,000 times a call's progress.
	paceAhead = time.Second
)

// costOfAsk is that of what a server asks: a form is judged, a client is asked. Many a server asks for roots in each
// call.
var costOfAsk = map[string]time.Duration{
	"elicitation/create":     5 * time.Millisecond,
	"sampling/createMessage": time.Millisecond,
	"roots/list":             500 * time.Microsecond,
}

// A pace is how much a server has said unasked, over one connection. A nil one is no limit.
type pace struct {
	fair.Pace
	waiting *atomic.Int64   // how many servers of the pool are not read
	ctx     context.Context // ends when no more is wanted
	close   context.CancelFunc
}

// newPace is for what is read until the context ends, or close is called.
func newPace(ctx context.Context, waiting *atomic.Int64) *pace {
	p := &pace{waiting: waiting}
	p.ctx, p.close = context.WithCancel(ctx)
	return p
}

// count counts a message that was not asked for, of so many bytes.
func (p *pace) count(cost time.Duration, bytes int) {
	if p == nil || cost == 0 {
		return
	}
	part := max(partOfServer, partOfServers*(p.waiting.Load()+1))
	cost += costOfByte * time.Duration(bytes)
	p.Count(cost * time.Duration(part) / time.Duration(runtime.GOMAXPROCS(0)))
}

// wait waits until more may be read.
func (p *pace) wait() {
	if p == nil {
		return
	}
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	_ = p.Wait(p.ctx, paceAhead) // what has ended says so itself
}

// stderr has standard error read at the pace. What it returns is called for each line, and after each read.
func (p *pace) stderr(told func(string, bool)) (line func(line string, cut bool), read func(bytes int)) {
	line = func(line string, cut bool) {
		p.count(costOfLine, 0)
		told(line, cut)
	}
	return line, func(bytes int) {
		p.count(costOfRead, bytes)
		p.wait()
	}
}
