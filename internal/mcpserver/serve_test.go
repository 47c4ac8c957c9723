package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	"codemode/internal/bridge"
	"codemode/internal/config"
	"codemode/internal/sandbox"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serve connects an MCP client to the bridge, as an application does.
func (k *kit) serve() *mcp.ClientSession { return k.serveClient(nil, nil) }

func (k *kit) serveClient(client *mcp.ClientOptions, session *mcp.ClientSessionOptions) *mcp.ClientSession {
	k.t.Helper()
	return k.connect(k.server.Serve, client, session)
}

func (k *kit) connect(
	serve func(context.Context, io.ReadCloser, io.WriteCloser) error, client *mcp.ClientOptions,
	session *mcp.ClientSessionOptions,
) *mcp.ClientSession {
	k.t.Helper()
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- serve(context.Background(), serverIn, serverOut) }()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, client)
	k.client = c
	connected, err := c.Connect(
		k.t.Context(), &mcp.IOTransport{Reader: clientIn, Writer: clientOut, MaxLineLength: -1}, session,
	)
	if err != nil {
		k.t.Fatalf("connecting: %v", err)
	}
	k.t.Cleanup(func() {
		_ = connected.Close()
		if err := <-served; err != nil {
			k.t.Errorf("serving: %v", err)
		}
	})
	return connected
}

// call calls run_python and returns the text of its result.
func (k *kit) call(session *mcp.ClientSession, arguments map[string]any) (string, *mcp.CallToolResult) {
	k.t.Helper()
	result, err := session.CallTool(k.t.Context(), &mcp.CallToolParams{Name: "run_python", Arguments: arguments})
	if err != nil {
		k.t.Errorf("calling run_python: %v", err)
		return "", &mcp.CallToolResult{}
	}
	return result.Content[0].(*mcp.TextContent).Text, result
}

// The answer to tools/list is the same bytes however many servers there are, and costs no process.
func TestToolListIsConstant(t *testing.T) {
	answer := func(servers ...config.Server) string {
		k := newKit(t, nil, servers...)
		tools, err := k.serve().ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(tools.Tools) != 1 {
			t.Errorf("%d tools", len(tools.Tools))
		}
		text, err := json.Marshal(tools)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	none := answer()
	many := answer(crowd(100, "-exit-at-start", "1")...)
	if none != many {
		t.Errorf("without servers:\n%s\nwith a hundred:\n%s", none, many)
	}
}

// structured has results carry structuredContent, too.
func structured(o *bridge.Options) { o.Config.Output.Structured = true }

// A result is its text: clients that find structuredContent hand their model that, and drop the text. What a program
// may want to know is in _meta, and at a resource.
func TestServeText(t *testing.T) {
	k := newKit(t, nil, fake("fake"))
	client := k.serve()
	text, result := k.call(client, map[string]any{"code": "print(1)"})
	want(t, text, "1")
	if result.StructuredContent != nil || len(result.Content) != 1 {
		t.Errorf("structured %v, content %v", result.StructuredContent, result.Content)
	}
	receipt, _ := result.Meta["codemode/receipt"].(map[string]any)
	if receipt["runtime"] != "native" || receipt["returnedBytes"] != float64(2) {
		t.Errorf("receipt: %v", receipt)
	}
	account := k.read(client, fmt.Sprint("codemode://runs/", receipt["run"]))
	contains(t, account.Text, `"status":"success"`, fmt.Sprintf(`"run":"%v"`, receipt["run"]), `"runtime":"native"`)
	_, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "codemode://runs/other"})
	if err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("a run that never was: %v", err)
	}
}

// Gemini CLI wraps a result that is marked as an error into the whole call as JSON; other clients do well with the
// mark.
func TestServeErrorsByClient(t *testing.T) {
	for name, marked := range map[string]bool{"gemini-cli-mcp-client": false, "claude-code": true, "": true} {
		k := newKit(t, nil)
		if got := toolResult(bridge.Outcome{Status: bridge.StatusError}, k.server.form(name)).IsError; got != marked {
			t.Errorf("%q: isError is %v", name, got)
		}
	}
}

// Every model is told which servers there are, in a line of bounded size.
func TestServeInstructions(t *testing.T) {
	for _, c := range []struct {
		servers []config.Server
		option  func(*bridge.Options)
		want    string
	}{
		{nil, nil, ""},
		{[]config.Server{fake("my-notes"), fake("b")}, nil, "MCP servers in run_python, as mcp_NAME: b, my_notes"},
		{[]config.Server{fake("b")}, func(o *bridge.Options) { o.Config.Instructions.Servers = false }, ""},
	} {
		k := newKit(t, c.option, c.servers...)
		want(t, k.serve().InitializeResult().Instructions, c.want)
	}
	k := newKit(t, nil, crowd(70)...)
	told := k.serve().InitializeResult().Instructions
	if !strings.HasPrefix(told, "MCP servers in run_python, as mcp_NAME: server_0, server_1, server_10, ") ||
		len(told) > 200 {
		t.Errorf("%d bytes: %s", len(told), told)
	}
	named := strings.Count(told, "server_")
	contains(t, told, fmt.Sprintf(" and %d more", 70-named))
}

// case 1: run_python with servers, again and again.
func TestServeAgainAndAgain(t *testing.T) {
	k := newKit(t, nil, fake("fake"), fake("other"))
	client := k.serve()
	for i := range 20 {
		text, result := k.call(client, map[string]any{
			"servers": []string{"fake"},
			"code":    fmt.Sprintf("print(await mcp_fake.echo(message='hello %d'))", i),
		})
		want(t, text, fmt.Sprintf("hello %d", i))
		if result.IsError {
			t.Errorf("call %d: isError", i)
		}
	}
	text, _ := k.call(
		client,
		map[string]any{
			"servers": []string{"fake"}, "code": "await runtime.call_tool('other', 'echo', {'message': 'x'})",
		},
	)
	contains(t, text, "Server 'other' is not available")
	// The same session, another choice: what is loaded follows the call.
	text, _ = k.call(
		client,
		map[string]any{"servers": []string{"other"}, "code": "LOADED_MCP_SERVERS, await mcp_other.echo(message='x')"},
	)
	want(t, text, "result: (('other',), 'x')")
	// None named: loaded on first use.
	text, _ = k.call(
		client,
		map[string]any{"code": "await mcp_fake.echo(message='x') + await mcp_servers['other'].echo(message='y')"},
	)
	want(t, text, "result: 'xy'")
	// An empty list is none.
	text, _ = k.call(
		client, map[string]any{"servers": []string{}, "code": "await mcp_servers['fake'].echo(message='x')"},
	)
	contains(t, text, "Server 'fake' is not available")
}

// case 3: calls of one session at the same moment run one after the other, and their outputs are not mixed.
func TestServeOneSessionAtOnce(t *testing.T) {
	k := newKit(t, nil, fake("fake"))
	client := k.serve()
	k.call(client, map[string]any{"code": "busy = 0"})
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			text, _ := k.call(client, map[string]any{"code": fmt.Sprintf(
				"assert not busy\nbusy = 1\nfor _ in range(20):\n    print(%d)\n    await mcp_fake.slow(ms=1)\nbusy = 0",
				i,
			)})
			want(t, text, strings.TrimSuffix(strings.Repeat(fmt.Sprintln(i), 20), "\n"))
		})
	}
	calls.Wait()
}

// case 4: calls of different sessions run side by side: each of these ends only after the other has begun.
func TestServeSessionsSideBySide(t *testing.T) {
	k := newKit(t, nil, fake("fake"))
	client := k.serve()
	code := "await mcp_fake.grow()\nwhile len(await runtime.list_tools('fake')) < before + 2:\n    await asyncio.sleep(0.01)\nprint(me)"
	before, _ := k.call(client, map[string]any{"session": "a", "code": "print(len(await runtime.list_tools('fake')))"})
	var calls sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		calls.Go(func() {
			text, _ := k.call(
				client,
				map[string]any{"session": name, "code": fmt.Sprintf("before, me = %s, %q\n%s", before, name, code)},
			)
			want(t, text, name)
		})
	}
	calls.Wait()
	text, _ := k.call(client, map[string]any{"session": "c", "code": "me"})
	contains(t, text, "NameError: name 'me' is not defined")
}

// case 6: the client cancels a call.
func TestServeCancelledByClient(t *testing.T) {
	k := newKit(t, nil, fake("fake"))
	client := k.serve()
	k.call(client, map[string]any{"code": "x = 41"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "run_python", Arguments: map[string]any{
			"code": "await mcp_fake.slow(ms=60000)",
		}})
		ended <- err
	}()
	k.waitForLog("fakemcp: slow is under way")
	cancel()
	if err := <-ended; err == nil {
		t.Error("a cancelled call was answered")
	}
	k.waitForLog("fakemcp: slow was cancelled")
	text, _ := k.call(client, map[string]any{"code": "x"})
	want(t, text, "result: 41")
}

// What a client sends that is no message costs it nothing but that: the session goes on, and what has an id is
// answered.
func TestServeSkipsGarbage(t *testing.T) {
	k := newKit(t, nil)
	in, client := io.Pipe()
	answers, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- k.server.Serve(t.Context(), in, out) }()
	lines := bufio.NewScanner(answers)
	say := func(text string) {
		if _, err := io.WriteString(client, text+"\n"); err != nil {
			t.Error(err)
		}
	}
	next := func(wanted string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), wanted) {
			t.Fatalf("%v %s, want %s", lines.Err(), lines.Text(), wanted)
		}
	}
	say("Starting some wrapper …")
	say("{bad json")
	say("\xff\xfe")
	say("Content-Length: 2\r\n\r")
	say("{}")
	say(`{"jsonrpc":"1.0","id":7,"method":"x"}`)
	next(`"id":7`)
	say(`[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]`)
	next(`"code":-32600`)
	next(`"id":"b"`)
	say(`{"jsonrpc":"2.0","id":8,"method":"x"`)
	next(`"code":-32700`)
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}`)
	next(`"serverInfo"`)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(`{"jsonrpc":"2.0","id":99,"result":{}}`)
	say(
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_python","arguments":{"code":"print(6*7)"}}}`,
	)
	next(`"text":"42"`)
	say("[]")
	say("null")
	say(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	next(`"id":3`)
	client.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if n := strings.Count(
		k.log.String(),
		`level=WARN msg="client sent something that is not JSON-RPC, which was skipped"`,
	); n != 10 {
		t.Errorf("%d lines were logged:\n%s", n, k.log.String())
	}
}

// A client of the revision that has batches may send one, whose answers come together and in its order.
func TestServeBatch(t *testing.T) {
	k := newKitOn(t, brokenRuntime{native()}, nil)
	in, client := io.Pipe()
	answers, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- k.server.Serve(t.Context(), in, out) }()
	lines := bufio.NewScanner(answers)
	for _, c := range []struct{ say, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},` +
			`"clientInfo":{"name":"t","version":"1"}}}`, `"serverInfo"`},
		{
			`{"jsonrpc":"2.0","method":"notifications/initialized"}
[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"none"},{"jsonrpc":"2.0","id":"3","method":"ping"}]`,
			`[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":"3","result":{}}]`,
		},
		{`[{"jsonrpc":"2.0","id":4,"method":"ping"}]`, `[{"jsonrpc":"2.0","id":4,"result":{}}]`},
		{`{"jsonrpc":"2.0","id":5,"method":"ping"}`, `{"jsonrpc":"2.0","id":5,"result":{}}`},
		{`[{"jsonrpc":"1.0","id":6,"method":"ping"},{"jsonrpc":"2.0","id":7,"method":"ping"}]`, `"id":6`},
		{"", `"id":7`},
	} {
		if c.say != "" {
			if _, err := io.WriteString(client, c.say+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		if !lines.Scan() || !strings.Contains(lines.Text(), c.want) {
			t.Errorf("%s: %v %s", c.say, lines.Err(), lines.Text())
		}
	}
	client.Close()
	<-served
}

// What is wrong with a call is told by the field's name, and nothing runs. case 23
func TestServeValidation(t *testing.T) {
	k := newKit(t, structured, fake("fake"))
	client := k.serve()
	code := "raise SystemExit('it ran')"
	for _, c := range []struct {
		arguments map[string]any
		want      string
	}{
		{map[string]any{}, "code: is missing or blank; give Python source"},
		{map[string]any{"code": " \n\t"}, "code: is missing or blank; give Python source"},
		{map[string]any{"code": 5}, "code: must be a string of Python source"},
		{map[string]any{"code": code, "servers": 7}, `servers: must be a list of server names, such as ["github"]`},
		{map[string]any{"code": code, "servers": []string{"fkae"}}, "servers: there is no server \"fkae\"\nhint: did you mean \"fake\"?"},
		{map[string]any{"code": code, "timeout": 0}, "timeout: must be a whole number of seconds from 1 to 300"},
		{map[string]any{"code": code, "timeout": -1}, "timeout: must be a whole number of seconds from 1 to 300"},
		{map[string]any{"code": code, "timeout": "five"}, "timeout: must be a whole number of seconds from 1 to 300"},
		{map[string]any{"code": code, "timout": 5}, `timout: there is no such argument; did you mean "timeout"?`},
		{map[string]any{"code": code, "xyzzy": 5}, "xyzzy: there is no such argument; there are code, servers, session, timeout"},
		{map[string]any{"code": code, "timeout": 2.5}, "timeout: must be a whole number of seconds from 1 to 300"},
		{map[string]any{"code": code, "session": "../x"}, "session: must be a name of 1 to 64 letters, digits, dots, dashes and underscores, and begin with neither dot nor dash"},
	} {
		text, result := k.call(client, c.arguments)
		want(t, text, "status: validation_error\nexit: 2\nerror: "+c.want)
		content, _ := result.StructuredContent.(map[string]any)
		if !result.IsError || content["status"] != "validation_error" {
			t.Errorf("isError %v, structuredContent %v", result.IsError, result.StructuredContent)
		}
	}
	for _, timeout := range []any{5.0, "5"} {
		text, result := k.call(client, map[string]any{"code": "print(1)", "timeout": timeout})
		want(t, text, "1")
		if result.IsError {
			t.Errorf("a timeout of %#v is an error", timeout)
		}
	}
	text, _ := k.call(client, map[string]any{"code": "print(1)", "timeout": 1_000_000_000})
	want(t, text, "1\nnote: timeout 1e+09 s is more than the limit, so 300 s applied")
}

// The snippet that users of the Python original know prints exactly its lines.
func TestServeSeed(t *testing.T) {
	k := newKit(t, nil, fake("stub"))
	client := k.serve()
	for _, servers := range []any{[]string{"stub"}, nil} {
		text, _ := k.call(client, map[string]any{"servers": servers, "code": "" +
			"from mcp import runtime\n" +
			"print(\"Discovered:\", runtime.discovered_servers())\n" +
			"print(\"Loaded metadata:\", runtime.list_loaded_server_metadata())\n" +
			"print(\"Selectable via RPC:\", await runtime.list_servers())"})
		lines := strings.Split(text, "\n")
		if len(lines) != 3 {
			t.Fatalf("%d lines: %s", len(lines), text)
		}
		want(t, lines[0], "Discovered: ('stub',)")
		want(t, lines[2], "Selectable via RPC: ('stub',)")
		if !strings.HasPrefix(lines[1], "Loaded metadata: ({'name': 'stub', 'alias': 'stub', 'tools': [{'name': '") ||
			!strings.HasSuffix(lines[1], "}]},)") {
			t.Errorf("%s", lines[1])
		}
		contains(
			t, lines[1],
			"{'name': 'echo', 'alias': 'echo', 'description': 'Echo the provided message', 'input_schema': {",
		)
	}
}

// brokenRuntime is one that cannot start a guest.
type brokenRuntime struct{ sandbox.Runtime }

func (brokenRuntime) Start(context.Context, sandbox.Spec) (sandbox.Sandbox, error) {
	return nil, &sandbox.UnavailableError{
		Runtime: "native", Step: "starting", Err: errors.New("no"), Remedy: []string{"do \x1b[1mthis", "or that"},
	}
}

// TestServeHints holds that what to do about an error reaches the client, in the text and beside it.
func TestServeHints(t *testing.T) {
	k := newKitOn(t, brokenRuntime{native()}, structured, fake("fake"))
	client := k.serve()
	for _, c := range []struct {
		servers []string
		hints   []any
	}{
		{nil, []any{`do \x1b[1mthis`, "or that"}},
		{[]string{"fkae"}, []any{`did you mean "fake"?`}},
		{[]string{"zzzzzz"}, []any{"there are: codemode servers"}},
	} {
		text, result := k.call(client, map[string]any{"code": "print(1)", "servers": c.servers})
		for _, h := range c.hints {
			contains(t, text, "\nhint: "+h.(string))
		}
		content, _ := result.StructuredContent.(map[string]any)
		if !reflect.DeepEqual(content["hints"], c.hints) {
			t.Errorf("%q: hints %v, want %v", c.servers, content["hints"], c.hints)
		}
	}
}

// TestServeLate has initialize be answered with names that are known before there is a bridge, which is made behind
// that answer, once, and which all else waits for.
func TestServeLate(t *testing.T) {
	k := newKit(t, nil)
	now, asked, made := k.server.bridge(), make(chan struct{}), make(chan struct{})
	k.server = NewLate(sync.OnceValue(func() *bridge.Bridge {
		close(asked)
		<-made
		return now
	}), Names{First: []string{"first", "second"}, All: 7}, k.server.opts)
	client := k.serveClient(nil, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	const want = "MCP servers in run_python, as mcp_NAME: first, second and 5 more"
	if got := client.InitializeResult().Instructions; got != want {
		t.Errorf("the instructions are %q, want %q", got, want)
	}
	<-asked
	close(made)
	if text, _ := k.call(client, map[string]any{"code": "print(6*7)"}); text != "42" {
		t.Errorf("code printed %q", text)
	}
}
