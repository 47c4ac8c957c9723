package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/bridge"
)

func TestAnswer(t *testing.T) {
	accept := func(content map[string]any) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: "accept", Content: content}
	}
	for _, tt := range []struct {
		result *mcp.ElicitResult
		want   bridge.Answer
	}{
		{accept(map[string]any{"decision": "once"}), bridge.Once},
		{accept(map[string]any{"decision": "run"}), bridge.ForRun},
		{accept(map[string]any{"decision": "session"}), bridge.ForSession},
		{accept(map[string]any{"decision": "deny"}), bridge.No},
		{accept(map[string]any{"decision": true}), bridge.No},
		{accept(nil), bridge.Once},
		{accept(map[string]any{"decision": nil}), bridge.No},
		{&mcp.ElicitResult{Action: "decline"}, bridge.No},
		{&mcp.ElicitResult{Action: "cancel", Content: map[string]any{"decision": "once"}}, bridge.Dismissed},
		{&mcp.ElicitResult{Action: "decline", Content: map[string]any{"decision": "once"}}, bridge.No},
		{&mcp.ElicitResult{Action: "cancel"}, bridge.Dismissed},
		{nil, bridge.No},
	} {
		if got := answer(bridge.Question{}, tt.result); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.result, got, tt.want)
		}
		want := tt.want
		if tt.result != nil && tt.result.Action == "accept" && tt.result.Content == nil {
			want = bridge.No
		}
		if got := answer(bridge.Question{Choose: true}, tt.result); got != want {
			t.Errorf("where a yes must be chosen, %+v: %v, want %v", tt.result, got, want)
		}
	}
	for choose, want := range map[bool]string{false: `"default":"once"`, true: `"default":"deny"`} {
		form, _ := elicitation(bridge.Question{Choose: choose}).RequestedSchema.(json.RawMessage)
		contains(t, string(form), want)
	}
}

// TestCancelledWhileAsked has a client cancel a run while its user thinks: the question is taken back, the call is not
// made, and the session lives.
func TestCancelledWhileAsked(t *testing.T) {
	called := filepath.Join(t.TempDir(), "called")
	k := newKit(t, func(o *bridge.Options) {
		o.Config.Policy.Confirm = []string{"*.delete_*"}
	}, fake("notes", "-notes", called))
	asked, takenBack := make(chan struct{}), make(chan error, 1)
	client := k.serveClient(
		&mcp.ClientOptions{
			ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				close(asked)
				select {
				case <-ctx.Done():
					takenBack <- nil
				case <-time.After(patience):
					takenBack <- errors.New("the question still stands")
				}
				return nil, ctx.Err()
			},
		},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"},
	)
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

// TestAcceptedAsItStands has a client accept each form without a choice. That is a yes to a tool that changes nothing
// and whose arguments are all shown, and to no other. The names of arguments show however long another is.
func TestAcceptedAsItStands(t *testing.T) {
	k := newKit(t, func(o *bridge.Options) {
		o.Config.Policy.Confirm = []string{"notes.*", "fake.image"}
	}, fake("notes", "-notes", filepath.Join(t.TempDir(), "called")), fake("fake"))
	var asked []string
	client := k.serveClient(&mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked = append(asked, q.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	}, nil)
	text, _ := k.call(client, map[string]any{"code": `
async def may(call):
    try:
        await call
        return True
    except mcp.PolicyError as e:
        return "said no" not in str(e)
[await may(mcp_notes.get_note(message="x")),
 await may(mcp_notes.get_note(message="x" * 5000)),
 await may(mcp_notes.delete_note(message="x")),
 await may(mcp_fake.image(a=list(range(3000)), message="x", zforce=True))]`})
	want(t, text, "result: [True, False, False, False]")
	if len(asked) != 4 {
		t.Fatalf("%d questions: %q", len(asked), asked)
	}
	contains(t, asked[2], "to accept the form as it stands is a no")
	contains(t, asked[3], `{"a":[0,1,2,3,`, ` bytes not shown>],"message":"x","zforce":true}`)
	if strings.Contains(asked[0], "as it stands") {
		t.Errorf("of a tool that changes nothing it says %q", asked[0])
	}
}
