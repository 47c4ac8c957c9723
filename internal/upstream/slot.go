package upstream

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"
)

// slot is where the answer to one request goes, past the SDK. The SDK hands the caller's context to
// [conn.Write]; the slot travels in it, so that the connection learns which request it belongs to. The
// answer's bytes land in the slot while the SDK gets a stand-in: nothing is decoded that is only
// handed on, and nothing is lost that the SDK has no field for.
type slot struct {
	ctx    context.Context         // the call's; nil with cancel
	cancel context.CancelCauseFunc // ends the call; nil where there is nothing to end
	token  int64                   // of its progress notifications

	sent  bool // the connection has taken the request; for the caller's goroutine alone, see mark
	again bool // the call is made for the second time, in a new session
	wire  Wire // that is told of it, in ctx; nil where nobody is

	answered atomic.Bool // its answer, or an error in the place of one, has come

	// Guarded by the connection's mutex.
	awaited int // requests that were sent, whose answer has not come
	result  json.RawMessage
	err     error // the server's error, a *jsonrpc.Error, or what is wrong with its answer

	asking  int           // questions of the server's that are being answered and may be about the call
	timeout time.Duration // 0 is none
	what    string        // what takes too long then, for people
	ends    time.Time     // the call, when neither its answer nor progress has come by then
	last    time.Time     // what progress cannot move ends past
}

// mark notes whether the connection has taken the request.
func (s *slot) mark(sent bool) {
	switch {
	case s == nil || s.sent == sent:
		return
	case s.wire == nil:
	case sent:
		s.wire.Sent(s.ctx)
	default:
		s.wire.Unsent(s.ctx)
	}
	s.sent = sent
}

// refused notes that the server refuses the request with its session, and so has not taken it. Of one that refuses it
// in a new session, too, that is not believed.
func (s *slot) refused() {
	if s != nil && !s.again {
		s.mark(false)
		s.turnedAway()
	}
}

// turnedAway notes that the server has refused the request: until its user has signed in, or with its session.
func (s *slot) turnedAway() {
	if s != nil && s.wire != nil {
		s.wire.Refused(s.ctx)
	}
}

type slotKey struct{}

func withSlot(ctx context.Context, s *slot) context.Context {
	return context.WithValue(ctx, slotKey{}, s)
}

func slotOf(ctx context.Context) *slot {
	s, _ := ctx.Value(slotKey{}).(*slot)
	return s
}

// maxExtension is how many times the call timeout a call may last that keeps reporting progress:
// "implementations SHOULD always enforce a maximum timeout, regardless of progress notifications"
// (https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#timeouts, its source read November 2026).
const maxExtension = 20

// limit has the connection cancel the call when neither its answer nor progress comes for the duration. It is called
// before expect.
func (s *slot) limit(d time.Duration, what string) {
	if d <= 0 {
		return
	}
	now := time.Now()
	s.timeout, s.what = d, what
	s.ends, s.last = now.Add(d), now.Add(maxExtension*d)
}

// progress is called with the connection's mutex held, so never after the slot was taken.
func (s *slot) progress() {
	if s.ends = time.Now().Add(s.timeout); s.ends.After(s.last) {
		s.ends = s.last
	}
}
