package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestPrintsReachTheClient has code print while it runs: a client that wants to know has each line as it is printed, and
// the result as ever.
func TestPrintsReachTheClient(t *testing.T) {
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		k := newKit(t, nil, fake("fake"))
		told := make(chan *mcp.ProgressNotificationParams, 1000)
		client := k.serveClient(&mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				told <- req.Params
			},
		}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
		const code = `
import sys
print("one\ttab")
await mcp_fake.slow(ms=300)
print("half", end="")
print("two\x1b[31m", file=sys.stderr)
print(" and half\r")
await mcp_fake.slow(ms=300)
print("x" * 1000)
print("last", end="")`
		call := func(token any) string {
			params := &mcp.CallToolParams{Name: "run_python", Arguments: map[string]any{"code": code}}
			if token != nil {
				params.SetProgressToken(token)
			}
			result, err := client.CallTool(t.Context(), params)
			if err != nil {
				t.Fatal(err)
			}
			return result.Content[0].(*mcp.TextContent).Text
		}
		quiet := call(nil)
		if len(told) > 0 {
			t.Errorf("a client that did not ask was told %+v", <-told)
		}
		want(t, call("token"), quiet)
		contains(t, quiet, "one\ttab", "two\\x1b[31m", "half and half", "last")
		var all []string
		for _, first := range []string{"one\ttab", `two\x1b[31m`, "xxx"} {
			p := <-told
			all = append(all, p.Message)
			if p.ProgressToken != "token" || !strings.HasPrefix(p.Message, first) {
				t.Errorf("%s: told %+v, want %q", protocol, p, first)
			}
			if first == `two\x1b[31m` && !strings.HasSuffix(p.Message, "half and half") {
				p = <-told
			}
			if len(p.Message) > maxPrint+10 {
				t.Errorf("%s: told %d bytes", protocol, len(p.Message))
			}
		}
		if len(told) > 0 {
			t.Errorf("%s: told %q, and %q", protocol, all, (<-told).Message)
		}
	}
}

// TestPrintedIsBounded is about code that prints more than anybody reads.
func TestPrintedIsBounded(t *testing.T) {
	var p printed
	var lines strings.Builder
	for n := range 100_000 {
		fmt.Fprintf(&lines, "line %d\n", n)
	}
	p.add("stdout", []byte("begun"))
	p.add("stdout", []byte(lines.String()))
	p.add("stderr", []byte("\n \n"+strings.Repeat("é", maxPrint)))
	p.add("stderr", []byte("\n"))
	text := p.take()
	shown := strings.Split(text, "\n")
	if len(text) > maxPrints+100 || !strings.HasPrefix(text, "[… 99") || shown[len(shown)-2] != "line 99999" ||
		!strings.HasSuffix(text, "é …") || p.take() != "" {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	if left := 100_000 - (len(shown) - 2); !strings.Contains(shown[0], fmt.Sprint(" ", left, " ")) {
		t.Errorf("%s, %d lines shown", shown[0], len(shown)-2)
	}
	said := 0
	for range 1000 {
		p.add("stdout", []byte(lines.String()))
		said += len(p.take())
	}
	if said > maxAllOf+2*maxPrints {
		t.Errorf("%d bytes were told", said)
	}
}
