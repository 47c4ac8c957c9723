package bridge

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/inquiry"
)

// TestFailedResultsHideSecrets holds that a result that is an error says nothing of what servers are started with, and
// that any other is the server's, byte for byte.
func TestFailedResultsHideSecrets(t *testing.T) {
	s := fake("fake")
	s.Env["API_KEY"], s.Env["TOKEN"] = "k3y", "Tr0ub4dor-and-3"
	s.Env["FIELD"], s.Env["MODE"] = "content", "isError" // as members of the answer are called
	b := newKit(t, nil, s)
	odd := "import base64, json\nanswer = '{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"isError\":%s,\"content\":" +
		"[{\"type\":\"text\",\"text\":\"the key is \x7fTr\x7f0ub4dor-and-3\"}]}}'\n" +
		"await mcp_fake.lines(lines=base64.b64encode(answer.encode()).decode())"
	for _, c := range []struct{ code, want string }{
		{`await mcp_fake.fail(message='\x7f'.join('no isError, content'))`, "no ***, ***"},
		{fmt.Sprintf(odd, `"no"`), "the key is ***"},
		{fmt.Sprintf(odd, `{}`), "the key is ***"},
		{
			`await mcp_fake.fail(message='\x7f'.join('denied: user:k3y, 3-dna-rod4bu0rT, dXNlcjprM3k='))`,
			"denied: user:***, ***, dXNlcj***=",
		},
		// The last: what code has sent is a secret no more.
		{"await mcp_fake.echo(message='k3y Tr0ub4dor-and-3')", "k3y Tr0ub4dor-and-3"},
	} {
		out := b.Run(t.Context(), Request{Code: c.code, Session: "s"})
		if text := out.Error[strings.LastIndex(out.Error, "\n")+1:] + out.Repr; !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", c.code, text, c.want)
		}
	}
}

// TestRefusalNotesHideSecrets: the note about a question that nobody was asked has nothing of what its server keeps.
func TestRefusalNotesHideSecrets(t *testing.T) {
	s := fake("fake")
	s.Env["API_KEY"] = "sk-topsecret-12345"
	b := newKit(t, nil, s)
	out := b.Run(t.Context(), Request{
		Code: "await mcp_fake.request(method='elicitation/create', params={'mode': 'sk-topsecret-12345', 'message': '?'})",
		Can:  &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		Respond: func(context.Context, mcp.InputRequest) (mcp.InputResponse, error) {
			t.Error("the user is asked")
			return inquiry.Cancelled(), nil
		},
	})
	if notes := strings.Join(out.Notes, "\n"); !strings.Contains(notes, `there is no elicitation of mode "***"`) {
		t.Errorf("the notes are %q", notes)
	}
}
