package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
)

// manyServers measures from the start of `serve` to the answer to initialize, with 1,000 servers and without any.
func (b *bench) manyServers(ctx context.Context) error {
	many := map[string]any{}
	for i := range 1000 {
		entry := b.fake()
		entry["args"] = []string{"fakemcp", fmt.Sprint("-n", i)}
		many[fmt.Sprint("server-", i)] = entry
	}
	start := func(file string) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			began := time.Now()
			cs, _, err := b.connect(ctx, "MCP_SERVERS_CONFIG="+file)
			took := time.Since(began)
			if err == nil {
				err = cs.Close()
			}
			return took, err
		}
	}
	full := &side{name: "1,000 servers", run: start(b.servers("thousand", many))}
	none := &side{name: "none", run: start(b.servers("none", map[string]any{}))}
	<-time.After(3 * time.Second) // what has just changed is not recalled
	if _, err := full.run(); err != nil {
		return err
	}
	if err := turns(b.n, full, none); err != nil {
		return err
	}
	what := "`serve`: process start to `initialize` answered, 1,000 servers that were found before against none"
	b.against(what, full, none, 1.1)
	return nil
}

// idleMemory is what serve and the guest of a session hold of their own when nothing is to be done.
func (b *bench) idleMemory(ctx context.Context) error {
	cs, serve, err := b.connect(ctx, "CODEMODE_SANDBOX_POOL=0")
	if err != nil {
		return err
	}
	defer cs.Close()
	before := private(serve.Process.Pid)
	if _, err := python(ctx, cs, "1"); err != nil {
		return err
	}
	guest := int64(0)
	for _, pid := range children(serve.Process.Pid) {
		if strings.HasPrefix(commandOf(pid), "python3") {
			guest = private(pid)
		}
	}
	b.add("idle `serve`, and the guest of an idle session, private memory",
		fmt.Sprintf("%.1f MB and %.1f MB", float64(before)/1024, float64(guest)/1024),
		"18 and 12 MB", met(before <= 18<<10 && guest <= 12<<10))
	return nil
}

// manySessions begins 16 sessions at once: each has a run of its own.
func (b *bench) manySessions(ctx context.Context) error {
	const sessions = 16
	var each []time.Duration
	for range max(5, b.n/6) {
		cs, _, err := b.connect(ctx)
		if err != nil {
			return err
		}
		if _, err := python(ctx, cs, "1"); err != nil { // knows the runtime
			return err
		}
		var all errgroup.Group
		began := time.Now()
		for i := range sessions {
			all.Go(func() error {
				_, err := pythonIn(ctx, cs, fmt.Sprint("s", i), "1")
				return err
			})
		}
		err = all.Wait()
		each = append(each, time.Since(began)/sessions)
		cs.Close()
		if err != nil {
			return err
		}
	}
	at := spreadOf(each)
	b.add("16 sessions begun at once, each", at.String(), "12 ms", met(at.Median <= 12*time.Millisecond))
	return nil
}

// gatheredCalls compares 1,000 calls that are made at once with as many of a plain client.
func (b *bench) gatheredCalls(ctx context.Context) error {
	file := b.servers("peer", map[string]any{"peer": b.fake()})
	const call = `_ = await asyncio.gather(*(mcp_peer.echo(message="hello") for _ in range(%d)))`
	ours := &side{name: "codemode, 1,000 calls gathered", run: func() (time.Duration, error) {
		return b.inRun(ctx, fmt.Sprintf(call, 1), fmt.Sprintf(call, 1000), "MCP_SERVERS_CONFIG="+file)
	}}
	direct := &side{name: "a client, 1,000 calls, 64 at a time", run: func() (time.Duration, error) {
		return b.callsBeside(ctx, 1000, 64)
	}}
	if err := turns(max(5, b.n/3), ours, direct); err != nil {
		return err
	}
	b.against("1,000 gathered calls in one run, against a go-sdk client that makes 64 at a time", ours, direct, 1/0.9)
	return nil
}

// inRun is how long code takes in a session that has run other code before.
func (b *bench) inRun(ctx context.Context, before, code string, env ...string) (time.Duration, error) {
	cs, _, err := b.connect(ctx, env...)
	if err != nil {
		return 0, err
	}
	defer cs.Close()
	if _, err := python(ctx, cs, before); err != nil {
		return 0, err
	}
	began := time.Now()
	_, err = python(ctx, cs, code)
	return time.Since(began), err
}

// direct connects a plain client to the test server.
func (b *bench) direct(ctx context.Context) (*mcp.ClientSession, error) {
	entry := b.fake()
	cmd := exec.Command(entry["command"].(string), entry["args"].([]string)...)
	opts := &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}
	return client().Connect(ctx, &mcp.CommandTransport{Command: cmd}, opts)
}

// callsBeside makes n calls, some of them at a time.
func (b *bench) callsBeside(ctx context.Context, n, atATime int) (time.Duration, error) {
	cs, err := b.direct(ctx)
	if err != nil {
		return 0, err
	}
	defer cs.Close()
	params := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"message": "hello"}}
	if _, err := cs.CallTool(ctx, params); err != nil {
		return 0, err
	}
	var all errgroup.Group
	all.SetLimit(atATime)
	began := time.Now()
	for range n {
		all.Go(func() error {
			_, err := cs.CallTool(ctx, params)
			return err
		})
	}
	err = all.Wait()
	return time.Since(began), err
}

// payloads compares what is large with the same of a plain client: most of the time is the test server's.
func (b *bench) payloads(ctx context.Context) error {
	file := b.servers("peer", map[string]any{"peer": b.fake()})
	for _, p := range []struct {
		what, code, tool string
		args             func() map[string]any
	}{
		{
			"one 10 MiB argument", `len(str(await mcp_peer.echo(message="x" * (10 << 20))))`, "echo",
			func() map[string]any { return map[string]any{"message": strings.Repeat("x", 10<<20)} },
		},
		{
			"one 10 MiB tool result", `len(str(await mcp_peer.big(n=10 << 20)))`, "big",
			func() map[string]any { return map[string]any{"n": 10 << 20} }, // the SDK's client takes no 30
		},
	} {
		ours := &side{name: "codemode", run: func() (time.Duration, error) {
			return b.inRun(ctx, `await mcp_peer.echo(message="x")`, p.code, "MCP_SERVERS_CONFIG="+file)
		}}
		direct := &side{name: "a client", run: func() (time.Duration, error) {
			return b.oneDirect(ctx, &mcp.CallToolParams{Name: p.tool, Arguments: p.args()})
		}}
		if err := turns(max(5, b.n/6), ours, direct); err != nil {
			return err
		}
		b.against(p.what+", against a go-sdk client", ours, direct, 0)
	}
	return nil
}

func (b *bench) oneDirect(ctx context.Context, params *mcp.CallToolParams) (time.Duration, error) {
	cs, err := b.direct(ctx)
	if err != nil {
		return 0, err
	}
	defer cs.Close()
	began := time.Now()
	_, err = cs.CallTool(ctx, params)
	return time.Since(began), err
}
