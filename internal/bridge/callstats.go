package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"codemode/internal/upstream"
	"codemode/internal/visible"
)

// ending is what came of a call.
type ending string

const (
	callOK         ending = "ok"
	callFailed     ending = "failed"     // answered: the tool or its server said so
	callUnanswered ending = "unanswered" // sent, and nobody knows what came of it
	callDenied     ending = "denied"     // not sent: by policy, by the user, or the run has no such tool
	callUnsent     ending = "unsent"     // not sent: its server could not be reached, or nobody waited for it any more
)

// Tally counts the calls of one tool.
type Tally struct {
	OK         int `json:"ok,omitempty"`
	Failed     int `json:"failed,omitempty"`     // answered with an error
	Denied     int `json:"denied,omitempty"`     // not sent: the policy or the user said no
	Unsent     int `json:"unsent,omitempty"`     // not sent for another reason
	Unanswered int `json:"unanswered,omitempty"` // sent, outcome unknown
}

// Effects are the calls of a run that must not be repeated without a look, as far as they may have changed something.
type Effects struct {
	Done       []string `json:"done,omitempty"`       // of a run that did not come to its end
	Unanswered []string `json:"unanswered,omitempty"` // of any run: sent, outcome unknown
}

// Lines tells them to people, each in one line.
func (e Effects) Lines() (lines []string) {
	for _, part := range []struct {
		head  string
		calls []string
	}{
		{"calls that were done, not to be repeated blindly:", e.Done},
		{"calls that were sent and not answered, whose outcome is unknown:", e.Unanswered},
	} {
		if len(part.calls) > 0 {
			lines = append(lines, part.head)
		}
		for _, c := range part.calls {
			lines = append(lines, "  "+c)
		}
	}
	return lines
}

const (
	maxEffects      = 20  // calls of each kind that are told one by one
	maxEffectDetail = 120 // bytes of a call's arguments that are told
)

// callStats keeps what came of a run's calls. It keeps little: runs make thousands of them.
type callStats struct {
	mu       sync.Mutex
	ended    bool // no call is begun any more
	over     bool // the outcome has been made: what still comes is too late
	byTool   map[string]Tally
	received int64 // bytes of the results that Python got
	busy     time.Duration
	active   int       // calls that a server works on
	since    time.Time // when they became so many
	underWay map[*entry]bool
	settled  chan struct{} // closed when the last of them has ended; nil where nobody waits for that

	done, unanswered         []string
	moreDone, moreUnanswered int
}

// entry is a call under way.
type entry struct {
	name      string // as it is shown
	arguments json.RawMessage
	reads     bool // it changes nothing
	asking    int  // questions of its server's that wait for an answer: nobody works on it
	sent      int  // requests for it that its server has taken, as far as is known
	refused   bool // its server has refused it, and may be asked again
}

// effect is how a call is told that may have changed something.
func (e *entry) effect() string {
	return e.name + " " + visible.Value(e.arguments, maxEffectDetail)
}

func newCallStats() *callStats {
	return &callStats{byTool: map[string]Tally{}, underWay: map[*entry]bool{}}
}

// begin notes a call that is about to be sent. It is nil when the run has ended: what was sent then would be in no
// outcome.
func (l *callStats) begin(server, tool string, arguments json.RawMessage, reads bool) *entry {
	e := &entry{name: visible.Call(server, tool), arguments: arguments, reads: reads}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.shift(1)
	l.underWay[e] = true
	return e
}

// shift changes how many calls a server works on. It is called with l.mu held.
func (l *callStats) shift(by int) {
	now := time.Now()
	if l.active > 0 {
		l.busy += now.Sub(l.since)
	}
	l.active, l.since = l.active+by, now
}

// pause notes that a call waits for an answer to its server, until resume.
func (l *callStats) pause(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.asking++; e.asking == 1 && l.underWay[e] {
		l.shift(-1)
	}
}

func (l *callStats) resume(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.asking--; e.asking == 0 && l.underWay[e] && !l.over {
		l.shift(1)
	}
}

// end notes what came of a call, and how much of it Python gets.
func (l *callStats) end(e *entry, how ending, received int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	delete(l.underWay, e)
	if len(l.underWay) == 0 && l.settled != nil {
		close(l.settled)
		l.settled = nil
	}
	if e.asking == 0 {
		l.shift(-1)
	}
	l.received += int64(received)
	l.tally(e, how)
}

// sent notes that a server has taken one request more or less for a call.
func (l *callStats) sent(e *entry, by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.sent += by
	e.refused = e.refused && by < 0 // what was sent since is another matter
}

// taken says whether a server has taken a request for a call, as far as is known. The only one that it has refused it
// has not.
func (l *callStats) taken(e *entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return e.sent > 1 || e.sent == 1 && !e.refused
}

// markRefused notes that a server has refused a call that may come again.
func (l *callStats) markRefused(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.refused = true
}

// again notes that a call is made once more, and what came of it before.
func (l *callStats) again(e *entry) (before ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = e.unfinished()
	if !l.over {
		l.tally(e, before)
	}
	e.sent, e.refused = 0, false
	return before
}

// unfinished is what came of a call that has no result.
func (e *entry) unfinished() ending {
	switch {
	case e.refused:
		return callFailed
	case e.sent == 0:
		return callUnsent
	}
	return callUnanswered
}

// ending says what came of a call: answered, not sent, or sent and not answered.
func (l *callStats) ending(e *entry, result json.RawMessage, err error) ending {
	l.mu.Lock()
	defer l.mu.Unlock()
	var call *upstream.CallError
	switch how := e.unfinished(); {
	case err == nil && upstream.IsError(result):
		return callFailed
	case err == nil:
		return callOK
	case how == callUnanswered && errors.As(err, &call) && !call.Crashed && !call.Unclear &&
		!errors.Is(err, context.DeadlineExceeded):
		return callFailed
	default:
		return how
	}
}

// tally notes what came of a call. It is called with l.mu held.
func (l *callStats) tally(e *entry, how ending) {
	l.count(e.name, how)
	switch {
	case e.reads:
	case how == callOK:
		l.done, l.moreDone = listed(l.done, l.moreDone, e)
	case how == callUnanswered:
		l.unanswered, l.moreUnanswered = listed(l.unanswered, l.moreUnanswered, e)
	}
}

// refuse notes a call that was not made.
func (l *callStats) refuse(server, tool string, how ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.count(visible.Call(server, tool), how)
	}
}

// count counts a call by what is shown of its tool. It is called with l.mu held.
func (l *callStats) count(name string, how ending) {
	t, counted := l.byTool[name]
	if !counted && len(l.byTool) >= maxTools {
		name = "other tools"
		t = l.byTool[name]
	}
	switch how {
	case callOK:
		t.OK++
	case callDenied:
		t.Denied++
	case callUnsent:
		t.Unsent++
	case callUnanswered:
		t.Unanswered++
	default:
		t.Failed++
	}
	l.byTool[name] = t
}

// busySoFar is how long some call was under way.
func (l *callStats) busySoFar() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active > 0 && !l.over {
		return l.busy + time.Since(l.since)
	}
	return l.busy
}

func listed(list []string, more int, e *entry) ([]string, int) {
	if len(list) < maxEffects {
		return append(list, e.effect()), more
	}
	return list, more + 1
}

// settleTime is how long calls may take to end that were cancelled.
const settleTime = time.Second

// settle lets no call begin any more, and waits for those that were cancelled: one of them may just be sent.
func (l *callStats) settle() {
	l.mu.Lock()
	l.ended = true
	var settled chan struct{}
	if len(l.underWay) > 0 {
		settled = make(chan struct{})
		l.settled = settled
	}
	l.mu.Unlock()
	if settled == nil {
		return
	}
	late := time.NewTimer(settleTime)
	defer late.Stop()
	select {
	case <-settled:
	case <-late.C:
	}
}

// close adds the run's calls to its outcome. What is still under way may have been sent, and stays unanswered.
func (l *callStats) close(out *Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shift(0)
	for e := range l.underWay {
		how := e.unfinished()
		if how == callUnsent { // as far as is known; it may be on its way
			how = callUnanswered
		}
		l.tally(e, how)
	}
	r := &out.Receipt
	r.ByTool, r.KeptBytes, r.ToolsMS = l.byTool, l.received, l.busy.Milliseconds()
	for _, t := range l.byTool {
		r.Calls += t.OK + t.Failed + t.Denied + t.Unsent + t.Unanswered
	}
	out.Effects.Unanswered = withMore(l.unanswered, l.moreUnanswered)
	if out.Status != StatusSuccess {
		out.Effects.Done = withMore(l.done, l.moreDone)
	}
	l.over = true
}

func withMore(list []string, more int) []string {
	if more > 0 {
		list = append(list, fmt.Sprintf("… and %d more", more))
	}
	return list
}
