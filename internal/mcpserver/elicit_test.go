package mcpserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
