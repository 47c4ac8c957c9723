package mcpserver

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/bridge/bridgetest"
)

// case 7: a client that goes away in the middle of a call ends everything, which is not an error; newKit proves that
// nothing is left.
func TestClientVanishes(t *testing.T) {
	k := newKit(t, nil, fake("fake", "-spawn-child", "-ignore-term"))
	clientIn, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	serverIn, clientOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer clientIn.Close()
	defer serverIn.Close()
	served := make(chan error, 1)
	go func() { served <- k.server.Serve(t.Context(), serverIn, serverOut) }()
	fmt.Fprintln(
		clientOut,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
	)
	fmt.Fprintln(clientOut, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintln(
		clientOut,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_python","arguments":{"code":`+
			`"import subprocess\nsubprocess.Popen(['sleep', '999'])\nawait mcp_fake.complain(message='in the call')\nawait mcp_fake.slow(ms=100000)"}}}`,
	)
	k.waitForLog("in the call")
	clientOut.Close()
	select {
	case err := <-served:
		if err != nil {
			t.Errorf("serving: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("serve does not end")
	}
}

// TestClientReadsNothing has a client leave, or codemode be told to end, with results in a full pipe that nobody reads.
func TestClientReadsNothing(t *testing.T) {
	for name, end := range map[string]func(clientOut *os.File, stop func()){
		"it leaves":          func(clientOut *os.File, _ func()) { clientOut.Close() },
		"codemode is to end": func(_ *os.File, stop func()) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			b := scriptedServer(t, func(g *bridgetest.Guest) { g.Drain() })
			serverIn, clientOut, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer clientOut.Close()
			defer serverIn.Close()
			clientIn, serverOut := io.Pipe() // without any room
			defer clientIn.Close()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			served := make(chan error, 1)
			go func() { served <- b.Serve(ctx, serverIn, serverOut) }()
			fmt.Fprintln(
				clientOut,
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
			)
			if _, err := clientIn.Read(make([]byte, 1)); err != nil { // the answer is under way, and stuck from here on
				t.Fatal(err)
			}
			end(clientOut, stop)
			select {
			case <-served:
			case <-time.After(patience):
				t.Fatal("serve does not end")
			}
		})
	}
}

// TestToldToEndInACall has codemode be told to end with a run under way, whichever revision of MCP its client speaks.
func TestToldToEndInACall(t *testing.T) {
	for _, protocol := range []string{"2025-06-18", severalRounds} {
		t.Run(protocol, func(t *testing.T) {
			running := make(chan struct{})
			b := scriptedServer(t, func(g *bridgetest.Guest) {
				g.Run()
				close(running)
				g.Drain()
			})
			clientIn, serverOut := io.Pipe()
			serverIn, clientOut := io.Pipe()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			served := make(chan error, 1)
			go func() { served <- b.Serve(ctx, serverIn, serverOut) }()
			client, err := mcp.NewClient(&mcp.Implementation{Name: "x", Version: "1"}, nil).
				Connect(t.Context(), &mcp.IOTransport{Reader: clientIn, Writer: clientOut}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			called := make(chan struct{})
			go func() {
				defer close(called)
				_, _ = client.CallTool(
					t.Context(),
					&mcp.CallToolParams{Name: "run_python", Arguments: map[string]any{"code": "x", "timeout": 60}},
				)
			}()
			<-running
			stop()
			select {
			case <-served:
			case <-time.After(patience):
				t.Error("serve does not end")
				clientOut.Close()
			}
			clientIn.Close()
			<-called
		})
	}
}
