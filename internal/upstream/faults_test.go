package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestWrongAnswers has a server answer as JSON-RPC forbids: the call that it is for ends, and the next works.
func TestWrongAnswers(t *testing.T) {
	f := newPool(t, nil, fake("stub", "-wrong"))
	if got := f.text("stub", "twice", ""); got != "twice" {
		t.Errorf("of two answers the call has %q", got)
	}
	for tool, want := range map[string]string{"list_result": "not an object", "half": "exit status 3"} {
		var call *CallError
		if _, err := f.Call(f.ctx(), "stub", tool, nil); !errors.As(err, &call) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", tool, err)
		}
		if got := f.text("stub", "echo", `{"message":"again"}`); got != "again" {
			t.Errorf("after %s: %q", tool, got)
		}
	}
	for _, tool := range []string{"wrong_id", "text_id"} {
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, enough)
		if _, err := f.Call(ctx, "stub", tool, nil); !errors.Is(err, enough) {
			t.Errorf("%s: %v", tool, err)
		}
		cancel()
		if got := f.text("stub", "echo", `{"message":"again"}`); got != "again" {
			t.Errorf("after %s: %q", tool, got)
		}
	}
}

// TestDiesAtEachStep has a server exit at each step of its life.
func TestDiesAtEachStep(t *testing.T) {
	for step, want := range map[string]string{
		"initialize": "initialize", "tools/list": "tools/list", "tools/call": "during the call",
	} {
		f := newPool(t, nil, fake("stub", "-die", step))
		_, err := f.Call(f.ctx(), "stub", "echo", json.RawMessage(`{"message":"x"}`))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "exit status 3") {
			t.Errorf("at %s: %v", step, err)
		}
	}
	f := newPool(t, nil, fake("stub", "-die", "answered"))
	for range 2 {
		if got := f.text("stub", "echo", `{"message":"bye"}`); got != "bye" {
			t.Errorf("its last answer is %q", got)
		}
		f.eventually("its end is known", func() (ended bool) {
			f.entry("stub").update(func(st *serverState) { ended = st.live == nil })
			return ended
		})
	}
}
