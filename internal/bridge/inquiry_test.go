//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/inquiry"
)

// TestServerAsksSeveralRuns has a server ask while it works for two sessions, over a connection that does not say for
// which.
func TestServerAsksSeveralRuns(t *testing.T) {
	k := newKit(t, nil, fake("fake", "-asks"))
	began, over := make(chan bool), make(chan Outcome, 1)
	request := func(session, message string, respond inquiry.Responder) Request {
		return Request{
			Session: session, Code: asks("form", message), Respond: respond,
			Can: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		}
	}
	go func() {
		over <- k.run(request("first", "1", func(ctx context.Context, _ mcp.InputRequest) (mcp.InputResponse, error) {
			began <- true
			<-began
			return &mcp.ElicitResult{Action: "decline", Content: map[string]any{"name": "typed"}}, nil
		}))
	}()
	<-began
	out := k.run(request("second", "2", func(context.Context, mcp.InputRequest) (mcp.InputResponse, error) {
		t.Error("the second run's user was asked")
		return nil, errors.New("no")
	}))
	contains(t, out.compact(), "calls of several runs are under way there, and nothing says which of them it is about")
	began <- true
	contains(t, (<-over).compact(), `{"form":{"action":"decline"}}`)
}

// TestServerHoldsTheClock: while a run waits for its user, its time stands still, and no call counts as under way.
// TestClockStandsStill and TestBusy say what comes of that.
func TestServerHoldsTheClock(t *testing.T) {
	k := newKit(t, nil, fake("fake", "-asks"))
	out := k.run(Request{
		Session: "s", Code: asks("form", "?"),
		Can: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		Respond: func(context.Context, mcp.InputRequest) (mcp.InputResponse, error) {
			l := k.liveOf("s")
			l.mu.Lock()
			r := l.run
			l.mu.Unlock()
			r.clock.mu.Lock()
			defer r.clock.mu.Unlock()
			r.stats.mu.Lock()
			defer r.stats.mu.Unlock()
			if r.clock.asks.holds != 1 || r.stats.active != 0 {
				t.Errorf("the clock is held %d times, %d calls are under way", r.clock.asks.holds, r.stats.active)
			}
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	contains(t, out.compact(), `{"form":{"action":"decline"}}`)
}

// TestNoCallUnderWay is about calls whose contexts belong to no run.
func TestNoCallUnderWay(t *testing.T) {
	k := newKit(t, nil)
	_, err := k.answerServer(t.Context(), "s", []context.Context{t.Context()}, &mcp.ElicitParams{})
	if err == nil || !strings.Contains(err.Error(), "no call of code's is under way there") {
		t.Error(err)
	}
	// Roots are asked for outside of calls, too: many a server does as it starts.
	k.Meet(Client{
		Can: &inquiry.Capabilities{RootsV2: &mcp.RootCapabilities{}},
		Roots: func(context.Context, inquiry.Request) (inquiry.Response, error) {
			return &mcp.ListRootsResult{}, nil
		},
	})
	if roots, err := k.answerServer(t.Context(), "s", nil, &mcp.ListRootsParams{}); err != nil {
		t.Errorf("roots: %v, %v", roots, err)
	}
}
