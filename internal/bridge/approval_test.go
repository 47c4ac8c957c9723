package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestClockStandsStill is about a run of ten seconds whose user is asked twice, once twice at the same time.
func TestClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := newClock(10 * time.Second)
		time.AfterFunc(4*time.Second, func() { c.hold() })
		time.AfterFunc(5*time.Second, func() { c.hold() })
		time.AfterFunc(64*time.Second, c.release)
		time.AfterFunc(94*time.Second, c.release)
		time.AfterFunc(95*time.Second, func() { c.hold() })
		time.AfterFunc(100*time.Second, c.release)
		<-c.over()
		if took := time.Since(began); took != 105*time.Second {
			t.Errorf("it was over after %v, want 10 s and the 95 s it was held", took)
		}
		if c.asked() != 95*time.Second {
			t.Errorf("it was held for %v", c.asked())
		}
		c.stop()
		if c.hold() {
			t.Error("a run that is being stopped can be held up")
		}
	})
}

func TestClockWithoutDeadline(t *testing.T) {
	c := newClock(0)
	if !c.hold() || c.over() != nil {
		t.Error("no deadline can be held, and is never over")
	}
	c.release()
	c.stop()
}

func TestAnswer(t *testing.T) {
	accept := func(content map[string]any) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: "accept", Content: content}
	}
	for _, tt := range []struct {
		result *mcp.ElicitResult
		want   Answer
	}{
		{accept(map[string]any{"decision": "once"}), Once},
		{accept(map[string]any{"decision": "run"}), ForRun},
		{accept(map[string]any{"decision": "session"}), ForSession},
		{accept(map[string]any{"decision": "deny"}), No},
		{accept(map[string]any{"decision": true}), No},
		{accept(nil), No},
		{&mcp.ElicitResult{Action: "decline", Content: map[string]any{"decision": "once"}}, No},
		{&mcp.ElicitResult{Action: "cancel"}, No},
		{nil, No},
	} {
		if got := answer(tt.result); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.result, got, tt.want)
		}
	}
}

// TestAnswersHold is about a tool whose server describes it anew after each answer.
func TestAnswersHold(t *testing.T) {
	first, second := question{"notes", "delete", 0}, question{"notes", "delete", 1}
	for _, c := range []struct {
		said               Answer
		yes, known, anew   bool // of the same tool, and of one described anew
		laterYes, laterNew bool // of the session's next run
	}{
		{said: No, known: true, anew: true},
		{said: Answer(99), known: true, anew: true},
		{said: Once},
		{said: ForRun, yes: true, known: true},
		{said: ForSession, yes: true, known: true, laterYes: true},
	} {
		kept := newAnswers()
		r := &run{answers: kept, said: map[question]Answer{}}
		r.remember(first, c.said)
		if yes, known := r.known(first); yes != c.yes || known != c.known {
			t.Errorf("%d: %v, %v", c.said, yes, known)
		}
		if yes, known := r.known(second); yes || known != c.anew {
			t.Errorf("%d, described anew: %v, %v", c.said, yes, known)
		}
		if _, known := r.known(question{"notes", "add", 0}); known {
			t.Errorf("%d: it is an answer to another question", c.said)
		}
		later := &run{answers: kept, said: map[question]Answer{}}
		if yes, known := later.known(first); yes != c.laterYes || known != c.laterYes {
			t.Errorf("%d, in the next run: %v, %v", c.said, yes, known)
		}
		if _, known := later.known(second); known != c.laterNew {
			t.Errorf("%d, in the next run, described anew: %v", c.said, known)
		}
	}
}

// TestQuestionIsPlain holds that no argument can move a terminal's cursor or look like another line.
func TestQuestionIsPlain(t *testing.T) {
	got := shortArguments(json.RawMessage("{ \"a\":\n \"\\u001b[2J\u202e\x1b\" , \"b\": \""+strings.Repeat("x", 5000)+"\"}"), 200)
	if strings.ContainsAny(got, "\n\x1b\u202e") || len(got) > 300 || !strings.HasPrefix(got, "{") || !strings.Contains(got, "bytes left out") {
		t.Errorf("%q", got)
	}
}

// TestCancelledWhileAsked has a client cancel a run while its user thinks: the question is taken back, the call is not made,
// and the session lives.
func TestCancelledWhileAsked(t *testing.T) {
	called := filepath.Join(t.TempDir(), "called")
	k := newKit(t, func(o *Options) {
		o.Config.Policy.Confirm = []string{"*.delete_*"}
	}, fake("notes", "-notes", called))
	asked, takenBack := make(chan struct{}), make(chan error, 1)
	client := k.serveClient(&mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		close(asked)
		select {
		case <-ctx.Done():
			takenBack <- nil
		case <-time.After(patience):
			takenBack <- errors.New("the question still stands")
		}
		return nil, ctx.Err()
	}}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "run_python", Arguments: map[string]any{
			"code": "x = 41\nawait mcp_notes.delete_note(message='x')",
		}})
		ended <- err
	}()
	<-asked
	cancel()
	if err := <-ended; err == nil {
		t.Error("a cancelled call was answered")
	}
	if err := <-takenBack; err != nil {
		t.Error(err)
	}
	text, _ := k.call(client, map[string]any{"code": "x"})
	want(t, text, "result: 41")
	if _, err := os.Stat(called); err == nil {
		t.Error("the call was made")
	}
}
