package mcpserver

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/bridge"
)

// TestExposed holds that exposed tools are listed as their servers describe them, answer as they do, and are under the
// same policy, approval and audit as calls of code.
func TestExposed(t *testing.T) {
	dir := t.TempDir()
	k := newKit(t, func(o *bridge.Options) {
		o.Config.Expose = []string{`"notes".*`, "fa[k]e.echo", "fake.image", "none.*"}
		o.Config.Policy.Deny, o.Config.Policy.Confirm = []string{"notes.delete_note"}, []string{"notes.add_note"}
		o.Config.Audit.MaxSize, o.Config.Audit.Keep, o.AuditDir = 1<<20, 2, dir
	}, fake("fake"), fake("notes", "-notes", filepath.Join(dir, "called")), fake("other"))
	asked := 0
	client := k.serveClient(&mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			contains(t, q.Params.Message, "The model wants to call notes.add_note with", "milk")
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "once"}}, nil
		},
	}, nil)
	listed, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if got := strings.Join(
		names, " ",
	); !strings.HasPrefix(got, "fake__echo fake__image notes__") || strings.Contains(got, "delete_note") ||
		!strings.HasSuffix(got, " run_python") ||
		strings.Contains(got, "other") {
		t.Errorf("tools %s", got)
	}
	call := func(name, arguments string) string {
		t.Helper()
		result, err := client.CallTool(
			t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)},
		)
		if err != nil {
			return err.Error()
		}
		text, _ := json.Marshal(result)
		return string(text)
	}
	want(t, call("fake__echo", `{"message":"hi"}`), `{"content":[{"type":"text","text":"hi"}]}`)
	contains(t, call("fake__image", `{}`), `"mimeType":"image/png"`, `"fake/kind":"image"`)
	contains(t, call("notes__add_note", `{"message":"milk"}`), `add_note: milk`)
	contains(t, call("notes__delete_note", `{}`), `unknown tool`)
	contains(t, call("other__echo", `{"message":"hi"}`), `unknown tool`)
	if called, _ := os.ReadFile(filepath.Join(dir, "called")); asked != 1 || !strings.Contains(string(called), "milk") {
		t.Errorf("asked %d times, called %q", asked, called)
	}
	logs, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	var lines []byte
	for _, log := range logs {
		text, _ := os.ReadFile(log)
		lines = append(lines, text...)
	}
	contains(t, string(lines), `"tool":"echo"`, `"tool":"add_note"`, `"rule":"confirm:notes.add_note"`)
}

// TestExposedQuestions: what a server says is a question, not a result, reaches no client, which would ask its user for
// codemode.
func TestExposedQuestions(t *testing.T) {
	server := fake("fake")
	server.Args = append([]string{
		"-c", `"$0" | sed -u 's/"content":\[{"type":"text","text":"\(.*\)"}\]/"content":[],\1/;s/\\"/"/g'`,
		server.Command,
	}, server.Args...)
	server.Command = "/bin/sh"
	k := newKit(t, func(o *bridge.Options) { o.Config.Expose = []string{"fake.echo"} }, server)
	client := k.serveClient(nil, nil)
	for said, isResult := range map[string]bool{
		`"resultType":"input_required","requestState":"s"`: false, `"resultType":"complete","resultType":"x"`: false,
		`"ResultType":"input_required"`: false, `"resultType":null`: false, `"resultType":"complete"`: true, `"x":1`: true,
	} {
		message, _ := json.Marshal(map[string]string{"message": said})
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "fake__echo", Arguments: json.RawMessage(message)})
		if err != nil || res.IsError == isResult {
			t.Errorf("%s: %+v, %v", said, res, err)
		}
	}
}
