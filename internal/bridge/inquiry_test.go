//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

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

// TestServerHoldsTheClock has a run wait for its user for longer than it may take, and not count that as work.
func TestServerHoldsTheClock(t *testing.T) {
	const limit = 3 * time.Second // in which all else is done, however busy the machine is
	k := newKit(t, nil, fake("fake", "-asks"))
	out := k.run(Request{
		Timeout: limit, Code: asks("form", "?"), Can: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{},
		},
		Respond: func(ctx context.Context, _ mcp.InputRequest) (mcp.InputResponse, error) {
			select {
			case <-time.After(limit + limit/4):
			case <-ctx.Done():
			}
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	contains(t, out.compact(), `{"form":{"action":"decline"}}`)
	if out.Receipt.AskedMS < limit.Milliseconds() || out.Receipt.ToolsMS > limit.Milliseconds() {
		t.Errorf("asked for %d ms, calls for %d ms", out.Receipt.AskedMS, out.Receipt.ToolsMS)
	}
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
