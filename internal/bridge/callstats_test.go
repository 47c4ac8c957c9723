package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"codemode/internal/upstream"
	"codemode/internal/visible"
)

func TestEndingOf(t *testing.T) {
	for want, calls := range map[ending][]struct {
		result string
		err    error
	}{
		callOK:     {{`{"content":[{"type":"text","text":"\"isError\":true"}]}`, nil}, {`{}`, nil}},
		callFailed: {{`{"isError":true}`, nil}, {"", &upstream.CallError{Err: errors.New("no")}}, {"", &upstream.StartError{Err: context.DeadlineExceeded}}},
		callUnanswered: {
			{"", &upstream.CallError{Crashed: true, Err: errors.New("gone")}},
			{"", context.Canceled},
			{"", &upstream.CallError{Err: context.DeadlineExceeded}},
		},
	} {
		for _, c := range calls {
			if got := endingOf(json.RawMessage(c.result), c.err); got != want {
				t.Errorf("%s %v: %s, want %s", c.result, c.err, got, want)
			}
		}
	}
}

// TestCallStatsAreBounded is about a run that calls as many tools as it can, by names as long as it can.
func TestCallStatsAreBounded(t *testing.T) {
	l := newCallStats()
	for i := range 1000 {
		tool := fmt.Sprintf("%d%s", i, strings.Repeat("x", maxAskedName))
		e := l.begin("s", tool, json.RawMessage(`{"a":"`+strings.Repeat("y\u202e", 1000)+`"}`), false)
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
	l.begin("s", "t", nil, false)
	l.begin("s", "t", nil, true)
	l.close(&out)
	if len(out.Effects.Done) > 0 || len(out.Effects.Unanswered) != 1 {
		t.Error(out.Effects)
	}
	if got := out.Receipt.ByTool["s.t"]; got != (Tally{OK: 1, Unanswered: 2}) || out.Receipt.Calls != 3 {
		t.Errorf("%+v", out.Receipt)
	}
}
