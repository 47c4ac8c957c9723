package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/upstream"
	"codemode/internal/visible"
)

// TestEnding holds that what was answered, what was not sent, and what nobody knows of are told apart.
func TestEnding(t *testing.T) {
	call := func(err error) error { return &upstream.CallError{Err: err} }
	gone := &upstream.CallError{Crashed: true, Err: errors.New("gone")}
	for _, c := range []struct {
		sent    int
		refused bool
		result  string
		err     error
		want    ending
	}{
		{1, false, `{"content":[{"type":"text","text":"\"isError\":true"}]}`, nil, callOK},
		{1, false, `{}`, nil, callOK},
		{1, false, `{"isError":true}`, nil, callFailed},
		{1, false, `{"isError":"no"}`, nil, callFailed},
		{1, false, `{"isError":[]}`, nil, callFailed},
		{1, false, `{"isError":0}`, nil, callFailed},
		{1, false, `{"isError":null}`, nil, callOK},
		{1, false, `{"isError":false}`, nil, callOK},
		{1, false, "", call(errors.New("no")), callFailed},
		{1, false, "", &upstream.CallError{Err: errors.New("no object"), Unclear: true}, callUnanswered},
		{1, true, "", context.Canceled, callFailed},
		{1, false, "", context.Canceled, callUnanswered},
		{1, false, "", gone, callUnanswered},
		{1, false, "", call(context.DeadlineExceeded), callUnanswered},
		{1, false, "", &upstream.StartError{Err: errors.New("it could not be started again")}, callUnanswered},
		{0, false, "", context.Canceled, callUnsent},
		{0, false, "", gone, callUnsent},
		{0, false, "", call(context.DeadlineExceeded), callUnsent},
		{0, false, "", &upstream.StartError{Err: context.DeadlineExceeded}, callUnsent},
	} {
		l := newCallStats()
		e := l.begin("s", "t", nil, false)
		l.sent(e, c.sent)
		if c.refused {
			l.markRefused(e)
		}
		if got := l.ending(e, json.RawMessage(c.result), c.err); got != c.want {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
		out := Outcome{}
		if l.close(&out); c.err != nil && (len(out.Effects.Unanswered) == 1) == c.refused {
			t.Errorf("%+v: a run that ends meanwhile says %q", c, out.Effects)
		}
	}
}

// TestSettle holds that a run's outcome waits for calls that are being cancelled, and that none is begun behind it.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for how, want := range map[ending]Tally{
			callUnsent: {Unsent: 1}, callUnanswered: {Unanswered: 1}, "": {Unanswered: 1},
		} {
			l := newCallStats()
			e := l.begin("s", "t", nil, false)
			go func() {
				<-time.After(settleTime / 2)
				if l.begin("s", "late", nil, false) != nil {
					t.Error("a call begins when its run has ended")
				}
				if how != "" { // else it does not end
					l.end(e, how, 0)
				}
			}()
			began, out := time.Now(), Outcome{}
			l.settle()
			l.close(&out)
			if got := out.Receipt.ByTool["s.t"]; got != want || out.Receipt.Calls != 1 {
				t.Errorf("%q: %+v", how, out.Receipt)
			}
			if took := time.Since(began); took > settleTime || how != "" && took > settleTime/2 {
				t.Errorf("%q: it took %v", how, took)
			}
			synctest.Wait()
		}
	})
}

// TestBusy counts the time in which a server works on some call, and nobody's user is asked about it.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCallStats()
		pass := func(d time.Duration) { <-time.After(d) }
		first := l.begin("s", "first", nil, false)
		pass(3 * time.Second)
		l.pause(first)
		pass(time.Hour)
		second := l.begin("s", "second", nil, false)
		pass(4 * time.Second)
		l.pause(first) // a second question about it
		l.end(second, callOK, 0)
		pass(time.Hour)
		l.resume(first)
		pass(time.Hour)
		l.resume(first)
		pass(5 * time.Second)
		if busy := l.busySoFar(); busy != 12*time.Second {
			t.Errorf("busy for %v, want 12 s", busy)
		}
	})
}

// TestCallStatsAreBounded is about a run that calls as many tools as it can, by names as long as it can.
func TestCallStatsAreBounded(t *testing.T) {
	l := newCallStats()
	for i := range 1000 {
		tool := fmt.Sprintf("%d%s", i, strings.Repeat("x", maxAskedName))
		e := l.begin("s", tool, json.RawMessage(`{"a":"`+strings.Repeat("y\u202e", 1000)+`"}`), false)
		l.sent(e, 1)
		switch i % 3 {
		case 0:
			l.end(e, callOK, 1)
		case 1:
			l.end(e, callUnanswered, 0)
		}
	}
	out := Outcome{Status: StatusError}
	l.close(&out)
	if out.Receipt.Calls != 1000 || len(out.Receipt.ByTool) != maxTools+1 || out.Receipt.KeptBytes != 334 {
		t.Errorf("%d calls of %d tools, %d bytes", out.Receipt.Calls, len(out.Receipt.ByTool), out.Receipt.KeptBytes)
	}
	lines := out.Effects.Lines()
	if text := strings.Join(lines, "\n"); len(lines) != 2*(maxEffects+2) || len(text) > 32<<10 ||
		text != visible.Text(text) {
		t.Errorf("%d lines of %d bytes: %.2000s", len(lines), len(text), text)
	}
	if last := lines[len(lines)-1]; last != "  … and 646 more" {
		t.Errorf("the last line is %q", last)
	}
	l.refuse("s", "late", callDenied)
	if _, late := out.Receipt.ByTool["s.late"]; late {
		t.Error("a receipt changes after its run")
	}
}

// TestEffectsOfSuccess holds that nobody is warned of what a run has done that did all it wanted, unless nobody knows
// whether it was done.
func TestEffectsOfSuccess(t *testing.T) {
	l := newCallStats()
	l.end(l.begin("s", "t", nil, false), callOK, 1)
	out := Outcome{Status: StatusSuccess}
	l.sent(l.begin("s", "t", nil, false), 1)
	l.sent(l.begin("s", "t", nil, true), 1)
	l.close(&out)
	if len(out.Effects.Done) > 0 || len(out.Effects.Unanswered) != 1 {
		t.Error(out.Effects)
	}
	if got := out.Receipt.ByTool["s.t"]; got != (Tally{OK: 1, Unanswered: 2}) || out.Receipt.Calls != 3 {
		t.Errorf("%+v", out.Receipt)
	}
}
