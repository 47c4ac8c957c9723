//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

package bridge

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/config"
	"codemode/internal/fakemcp"
	"codemode/internal/inquiry"
	"codemode/internal/upstream"
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

// TestServerAsksAfterAnothersCall has a server ask in the middle of a call, when one of another session has just ended:
// it may be about that, unless the connection says which call it is about.
func TestServerAsksAfterAnothersCall(t *testing.T) {
	site := httptest.NewServer(fakemcp.Handler("-asks"))
	k := newKit(t, nil, fake("fake", "-asks"), config.Server{Name: "far", URL: site.URL + "/mcp"})
	t.Cleanup(func() {
		site.CloseClientConnections()
		site.Close()
	})
	k.Meet(Client{Can: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}}})
	asked := 0
	says := func(session, server, want string, times int) {
		t.Helper()
		asked = 0
		out := k.run(Request{
			Session: session, Code: strings.ReplaceAll(asks("form", "?"), "mcp_fake", "mcp_"+server),
			Can: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
			Respond: func(context.Context, mcp.InputRequest) (mcp.InputResponse, error) {
				asked++
				return &mcp.ElicitResult{Action: "decline"}, nil
			},
		})
		if contains(t, out.compact(), want); asked != times {
			t.Errorf("session %s was asked %d times by %s, want %d", session, asked, server, times)
		}
	}
	const answer, refused = `{"form":{"action":"decline"}}`, "a call of another session has ended there in the last 60 s"
	for _, server := range []string{"fake", "far"} {
		k.run(Request{Session: "first", Code: "await mcp_" + server + ".echo(message='1')"})
		says("first", server, answer, 1)
	}
	says("second", "far", answer, 1)
	says("second", "fake", refused, 0)
	lanes := k.admission.lanesOf("fake")
	lanes.mu.Lock()
	for by := range lanes.users {
		lanes.users[by] = use{ended: time.Now().Add(-2 * upstream.StillAsks)}
	}
	lanes.mu.Unlock()
	says("second", "fake", answer, 1)
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
	_, err := k.answerServer(t.Context(), "s", upstream.About{Calls: []context.Context{t.Context()}}, &mcp.ElicitParams{})
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
	if roots, err := k.answerServer(t.Context(), "s", upstream.About{}, &mcp.ListRootsParams{}); err != nil {
		t.Errorf("roots: %v, %v", roots, err)
	}
}
