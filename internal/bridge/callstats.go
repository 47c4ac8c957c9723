package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"codemode/internal/upstream"
	"codemode/internal/visible"
)

// ending is what came of a call.
type ending string

const (
	callOK         ending = "ok"
	callFailed     ending = "failed"     // the tool said so, or it was never sent
	callUnanswered ending = "unanswered" // sent, and nobody knows what came of it
	callDenied     ending = "denied"
	callCancelled  ending = "cancelled" // ended before it was sent
)

// Tally counts the calls of one tool.
type Tally struct {
	OK         int `json:"ok,omitempty"`
	Failed     int `json:"failed,omitempty"`
	Denied     int `json:"denied,omitempty"`
	Cancelled  int `json:"cancelled,omitempty"`  // before they were sent
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
	over     bool // the outcome has been made: what still comes is too late
	byTool   map[string]Tally
	received int64 // bytes of the results that Python got
	busy     time.Duration
	active   int       // calls that a server works on
	since    time.Time // when they became so many
	underWay map[*entry]bool

	done, unanswered         []string
	moreDone, moreUnanswered int
}

// entry is a call under way.
type entry struct {
	name      string
	arguments json.RawMessage
	reads     bool // it changes nothing
	asking    int  // questions of its server's that wait for an answer: nobody works on it
}

// effect is how a call is told that may have changed something.
func (e *entry) effect() string {
	return visible.Name(e.name) + " " + visible.Value(e.arguments, maxEffectDetail)
}

func newCallStats() *callStats {
	return &callStats{byTool: map[string]Tally{}, underWay: map[*entry]bool{}}
}

// begin notes a call that is about to be sent.
func (l *callStats) begin(server, tool string, arguments json.RawMessage, reads bool) *entry {
	e := &entry{name: server + "." + tool, arguments: arguments, reads: reads}
	l.mu.Lock()
	defer l.mu.Unlock()
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
	if e.asking == 0 {
		l.shift(-1)
	}
	l.received += int64(received)
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
		l.count(server+"."+tool, how)
	}
}

// count is called with l.mu held.
func (l *callStats) count(name string, how ending) {
	name = visible.Name(name)
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
	case callCancelled:
		t.Cancelled++
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

// close adds the run's calls to its outcome. What is still under way stays unanswered.
func (l *callStats) close(out *Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shift(0)
	for e := range l.underWay {
		l.count(e.name, callUnanswered)
		if !e.reads {
			l.unanswered, l.moreUnanswered = listed(l.unanswered, l.moreUnanswered, e)
		}
	}
	r := &out.Receipt
	r.ByTool, r.KeptBytes, r.ToolsMS = l.byTool, l.received, l.busy.Milliseconds()
	for _, t := range l.byTool {
		r.Calls += t.OK + t.Failed + t.Denied + t.Cancelled + t.Unanswered
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

// endingOf says what came of a call that was made.
func endingOf(result json.RawMessage, err error) ending {
	var start *upstream.StartError
	var call *upstream.CallError
	switch {
	case err == nil && gjson.GetBytes(result, "isError").Bool():
		return callFailed
	case err == nil:
		return callOK
	case errors.As(err, &start):
		return callFailed
	case errors.Is(err, upstream.ErrNotSent):
		return callCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return callUnanswered
	case errors.As(err, &call) && !call.Crashed:
		return callFailed
	}
	return callUnanswered
}
