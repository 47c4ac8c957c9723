package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// execStart compares a whole `codemode exec` with the bare interpreter it carries.
func (b *bench) execStart(context.Context) error {
	var ours, bare []time.Duration
	for range b.n {
		d, err := timed(b.command(nil, "exec", "-c", "print(1)"))
		if err != nil {
			return err
		}
		ours = append(ours, d)
		if d, err = timed(exec.Command(b.python, "-I", "-c", "print(1)")); err != nil {
			return err
		}
		bare = append(bare, d)
	}
	o, p := median(ours), median(bare)
	ratio := float64(o) / float64(p)
	b.add("`codemode exec -c 'print(1)'`, whole process, against bare `python3 -I -c 'print(1)'`",
		fmt.Sprintf("%s against %s: %.2f ×", ms(o), ms(p), ratio), "3.5 ×", met(ratio <= 3.5))
	return nil
}

func timed(cmd *exec.Cmd) (time.Duration, error) {
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", cmd, err, out)
	}
	return time.Since(began), nil
}

// servers writes a servers file and returns its path.
func (b *bench) servers(name string, entries map[string]any) string {
	path := filepath.Join(b.dir, name+".json")
	data, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		panic(err) // our own scratch directory
	}
	return path
}

func (b *bench) fake() map[string]any { return b.self("fakemcp") }

// self is a server that this program is, called with args.
func (b *bench) self(args ...string) map[string]any {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return map[string]any{"command": self, "args": args}
}

// connect starts `codemode serve` and a client for it.
func (b *bench) connect(ctx context.Context, env ...string) (*mcp.ClientSession, *exec.Cmd, error) {
	cmd := b.command(env, "serve")
	cmd.Stderr = os.Stderr
	opts := &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}
	cs, err := client().Connect(ctx, &mcp.CommandTransport{Command: cmd}, opts)
	return cs, cmd, err
}

func client() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
}

func python(ctx context.Context, cs *mcp.ClientSession, code string) (string, error) {
	return pythonIn(ctx, cs, "default", code)
}

func pythonIn(ctx context.Context, cs *mcp.ClientSession, session, code string) (string, error) {
	args := map[string]any{"code": code, "timeout": 120, "session": session}
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "run_python", Arguments: args})
	if err != nil {
		return "", err
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		return "", fmt.Errorf("run_python: %s", text)
	}
	return text, nil
}

// serveStart measures from the start of the process to the answer to initialize, with 100 servers.
func (b *bench) serveStart(ctx context.Context) error {
	many := map[string]any{}
	for i := range 100 {
		many[fmt.Sprintf("server-%d", i)] = b.fake()
	}
	file := b.servers("hundred", many)
	var d []time.Duration
	var resident int64
	for range b.n {
		began := time.Now()
		cs, cmd, err := b.connect(ctx, "MCP_SERVERS_CONFIG="+file)
		if err != nil {
			return err
		}
		d = append(d, time.Since(began))
		resident = max(resident, status(cmd.Process.Pid, "VmRSS:"))
		cs.Close()
	}
	m := median(d)
	b.add(
		"`serve`: process start to `initialize` answered, 100 servers configured",
		ms(m),
		"20 ms",
		met(m <= 20*time.Millisecond),
	)
	b.add(
		"`serve` resident, idle, after initialize (largest seen)",
		fmt.Sprintf("%.1f MB", float64(resident)/1024),
		"25 MB",
		met(resident <= 25*1024),
	)
	return nil
}

// status reads a kB field of /proc/PID/status; 0 where there is no such file.
func status(pid int, field string) int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			var n int64
			fmt.Sscan(rest, &n)
			return n
		}
	}
	return 0
}

func (b *bench) liveRun(ctx context.Context) error {
	cs, _, err := b.connect(ctx)
	if err != nil {
		return err
	}
	defer cs.Close()
	began := time.Now()
	if _, err := python(ctx, cs, "print(1)"); err != nil {
		return err
	}
	b.add("first `run_python(\"print(1)\")` of the first session", ms(time.Since(began)), "", "")
	var d []time.Duration
	for i := range b.n {
		<-time.After(300 * time.Millisecond) // a sandbox is started for it meanwhile
		began := time.Now()
		if _, err := pythonIn(ctx, cs, fmt.Sprint("s", i), "print(1)"); err != nil {
			return err
		}
		d = append(d, time.Since(began))
	}
	m := median(d)
	b.add("the same of a later session", ms(m), "5 ms", met(m <= 5*time.Millisecond))
	d = nil
	for range 10 * b.n {
		began := time.Now()
		if _, err := python(ctx, cs, "print(1)"); err != nil {
			return err
		}
		d = append(d, time.Since(began))
	}
	m = median(d)
	b.add("`run_python(\"print(1)\")` in a live session", ms(m), "1.5 ms", met(m <= 1500*time.Microsecond))
	d = nil
	for range 10 * b.n {
		began := time.Now()
		if _, err := python(ctx, cs, "1"); err != nil {
			return err
		}
		d = append(d, time.Since(began))
	}
	at := spreadOf(d)
	b.add("`run_python(\"1\")` in a live session", at.String(), "0.5 ms", met(at.Median <= 500*time.Microsecond))
	return nil
}

// sequentialCalls compares 1,000 calls in one run with the same calls of a plain client.
func (b *bench) sequentialCalls(ctx context.Context) error {
	self := b.fake()
	type peer struct {
		name, tool, call string
		entry            map[string]any
		args             map[string]any
	}
	peers := []peer{
		{
			"a Go server (fakemcp)",
			"echo",
			`await mcp_peer.echo(message="hello")`,
			self,
			map[string]any{"message": "hello"},
		},
	}
	if b.npm != "" {
		peers = append(peers, peer{
			"npm server-everything",
			"echo",
			`await mcp_peer.echo(message="hello")`,
			map[string]any{
				"command": filepath.Join(b.npm, "node_modules/.bin/mcp-server-everything"),
				"args":    []string{"stdio"},
			},
			map[string]any{"message": "hello"},
		})
	}
	for _, p := range peers {
		file := b.servers("peer", map[string]any{"peer": p.entry})
		ours := &side{name: "codemode, " + p.name, run: func() (time.Duration, error) {
			return b.callsThrough(ctx, p.call, "MCP_SERVERS_CONFIG="+file)
		}}
		direct := &side{name: "a client, " + p.name, run: func() (time.Duration, error) {
			return callsDirect(ctx, p.entry, p.tool, p.args)
		}}
		if err := turns(10, ours, direct); err != nil {
			return err
		}
		b.show("calls", ours, direct)
		b.against("1,000 sequential tool calls in one run, against a go-sdk client, "+p.name, ours, direct, 1.45)
	}
	return nil
}

func (b *bench) callsThrough(ctx context.Context, call string, env ...string) (time.Duration, error) {
	cs, _, err := b.connect(ctx, env...)
	if err != nil {
		return 0, err
	}
	defer cs.Close()
	if _, err := python(ctx, cs, call); err != nil { // starts the server
		return 0, err
	}
	began := time.Now()
	_, err = python(ctx, cs, "for _ in range(1000): "+call)
	return time.Since(began), err
}

func callsDirect(ctx context.Context, entry map[string]any, tool string, args map[string]any) (time.Duration, error) {
	cmd := exec.Command(entry["command"].(string), entry["args"].([]string)...)
	opts := &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}
	cs, err := client().Connect(ctx, &mcp.CommandTransport{Command: cmd}, opts)
	if err != nil {
		return 0, err
	}
	defer cs.Close()
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	if _, err := cs.CallTool(ctx, params); err != nil {
		return 0, err
	}
	began := time.Now()
	for range 1000 {
		if _, err := cs.CallTool(ctx, params); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func (b *bench) gather(ctx context.Context) error {
	cs, _, err := b.connect(ctx, "MCP_SERVERS_CONFIG="+b.servers("peer", map[string]any{"peer": b.fake()}))
	if err != nil {
		return err
	}
	defer cs.Close()
	if _, err := python(ctx, cs, "await mcp_peer.slow(ms=1)"); err != nil {
		return err
	}
	var d []time.Duration
	for range max(10, b.n/3) {
		began := time.Now()
		if _, err := python(
			ctx, cs, "_ = await asyncio.gather(*(mcp_peer.slow(ms=50) for _ in range(20)))",
		); err != nil {
			return err
		}
		d = append(d, time.Since(began))
	}
	m := median(d)
	b.add("`asyncio.gather` of 20 tools that take 50 ms", ms(m), "55 ms", met(m <= 55*time.Millisecond))
	return nil
}

// large moves the big things, and says how much memory the host needed at its peak.
func (b *bench) large(ctx context.Context) error {
	for _, c := range []struct{ what, code string }{
		{"one 100 MiB print", `print("x" * (100 << 20))`},
		{"one 10 MiB argument", `len(str(await mcp_peer.echo(message="x" * (10 << 20))))`},
		{"one 30 MiB tool result", `len(str(await mcp_peer.big(n=30 << 20)))`},
	} {
		cs, cmd, err := b.connect(ctx, "MCP_SERVERS_CONFIG="+b.servers("peer", map[string]any{"peer": b.fake()}))
		if err != nil {
			return err
		}
		began := time.Now()
		text, err := python(ctx, cs, c.code)
		took := time.Since(began)
		peak := status(cmd.Process.Pid, "VmHWM:")
		cs.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		b.add(
			c.what,
			fmt.Sprintf(
				"works, %s, reply of %d bytes, host peak %d MB", took.Round(time.Millisecond), len(text), peak/1024,
			),
			"works, bounded",
			met(peak < 512<<10),
		)
	}
	return nil
}

// tokens counts what the model pays, with gpt-tokenizer's o200k_base.
func (b *bench) tokens(ctx context.Context) error {
	if b.npm == "" {
		b.add("tokens", "not measured: no -npm", "", "")
		return nil
	}
	var lists []string
	for _, env := range []string{"", "MCP_SERVERS_CONFIG=" + filepath.Join(b.dir, "hundred.json")} {
		cs, _, err := b.connect(ctx, env)
		if err != nil {
			return err
		}
		list, err := cs.ListTools(ctx, nil)
		cs.Close()
		if err != nil {
			return err
		}
		text, err := json.Marshal(list)
		if err != nil {
			return err
		}
		lists = append(lists, string(text))
	}
	cs, _, err := b.connect(ctx)
	if err != nil {
		return err
	}
	defer cs.Close()
	res, err := cs.CallTool(
		ctx,
		&mcp.CallToolParams{Name: "run_python", Arguments: map[string]any{"code": "x = 1\nraise ValueError(\"x\")"}},
	)
	if err != nil {
		return err
	}
	counts, err := b.count(lists[0], res.Content[0].(*mcp.TextContent).Text)
	if err != nil {
		return err
	}
	b.add(
		"`tools/list` answer, o200k",
		fmt.Sprintf("%d tokens; the same bytes for 0 and 100 servers: %v", counts[0], lists[0] == lists[1]),
		"200 tokens, same bytes",
		met(counts[0] <= 200 && lists[0] == lists[1]),
	)
	b.add("reply to a two-line script that raises ValueError, o200k", fmt.Sprintf("%d tokens", counts[1]),
		"35 tokens", met(counts[1] <= 35))
	return nil
}

func (b *bench) count(texts ...string) ([]int, error) {
	input, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("node", "-e", `const {encode}=require("gpt-tokenizer/encoding/o200k_base");
const fs=require("fs");console.log(JSON.stringify(JSON.parse(fs.readFileSync(0)).map(t=>encode(t).length)))`)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(b.npm, "node_modules"))
	cmd.Stdin = strings.NewReader(string(input))
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("counting tokens: %w", err)
	}
	var counts []int
	return counts, json.Unmarshal(out, &counts)
}
