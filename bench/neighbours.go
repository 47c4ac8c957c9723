package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An attack is what one session does to hold up others.
type attack struct {
	what   string
	code   string // goes on until it is ended
	victim string // what the neighbours do
	env    string
}

const (
	oneCall  = `await mcp_peer.echo(message="hello")`
	eachMs   = "import os, time\nfor _ in range(100):\n  if os.fork() == 0:\n    while True: %stime.sleep(0.001)\n" + hold
	hold     = "await asyncio.sleep(100)"
	forkMany = "import os\nfor _ in range(60):\n  if os.fork() == 0:\n    %s\n    while True: %s\n" + hold
)

// attackThough is code that makes a call again and again, though it is refused.
func attackThough(call string) string {
	return "while True:\n  try: await " + call + "\n  except Exception: pass"
}

// frames is code that writes a message to its channel again and again, as fast as that takes it. %d in it is a number
// that no message had before.
func frames(message string) string {
	return "import itertools, os\nn = itertools.count(1_000_000)\nframe = " + strconv.Quote(message+"\n") + `
while True:
  some = "".join(frame % next(n) if "%d" in frame else frame for _ in range(500)).encode()
  while some: some = some[os.write(3, some):]
`
}

var attacks = []attack{
	{"60 processes that spin", fmt.Sprintf(forkMany, "pass", "pass"), oneCall, ""},
	{"the same, each in a session of its own", fmt.Sprintf(forkMany, "os.setsid()", "pass"), oneCall, ""},
	{"arguments of 30 MB to a shared server", attackThough(`mcp_peer.echo(message="x" * (30 << 20))`), oneCall, ""},
	{
		"the same, to a tool that is not there",
		attackThough(`runtime.call_tool("peer", "none", {"message": "x" * (30 << 20)})`),
		oneCall,
		"",
	},
	{"arguments of a million lists", `x = [[]] * 1_000_000
while True: await mcp_peer.arguments(x=x)`, oneCall, ""},
	{
		"256 small calls at once",
		`while True: await asyncio.gather(*(mcp_peer.echo(message="x") for _ in range(256)))`,
		oneCall,
		"",
	},
	{
		"slow calls, `policy.concurrency` is 2",
		`while True: await asyncio.gather(*(mcp_peer.slow(ms=100) for _ in range(50)))`,
		"await mcp_peer.slow(ms=70)",
		"CODEMODE_POLICY_CONCURRENCY=2",
	},
	{"60 processes that call sync", fmt.Sprintf(forkMany, "pass", "os.sync()"), oneCall, ""},
	{"60 processes that call fsync", fmt.Sprintf(forkMany, "f = open(os.__file__)", "os.fsync(f)"), oneCall, ""},
	{"prints of 60 kB", `while True: print("x" * 60000)`, oneCall, ""},
	{"prints of 60 kB of control characters", `while True: print("\x1b\x07" * 30000)`, oneCall, ""},
	{"prints of two bytes by 100 processes", fmt.Sprintf(eachMs, "os.write(1, b\"\\xff\\n\"); "), oneCall, ""},
	{"nothing, the same 100 each millisecond", fmt.Sprintf(eachMs, ""), oneCall, ""},
	{
		"timers of 55 processes, each millisecond",
		`import os, signal
for _ in range(55):
  if os.fork() == 0:
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    while True: signal.pause()
` + hold, oneCall, "",
	},
	{"small notifications", frames(`{"jsonrpc":"2.0","method":"none","params":{}}`), oneCall, ""},
	{"small notifications of output", frames(`{"jsonrpc":"2.0","method":"output",` +
		`"params":{"run":1,"stream":"stdout","text":"x\n"}}`), oneCall, ""},
	{
		"searches, whose answers nobody reads",
		frames(`{"jsonrpc":"2.0","id":%d,"method":"search","params":{"query":"` + strings.Repeat("echo ", 800) + `"}}`),
		oneCall, "",
	},
	{
		"descriptions of a server with 500 tools",
		frames(`{"jsonrpc":"2.0","id":%d,"method":"server","params":{"server":"wide","load":true}}`), oneCall, "",
	},
	{
		"the same descriptions, asked for anew",
		frames(`{"jsonrpc":"2.0","id":%d,"method":"server","params":{"server":"wide","fresh":true}}`), oneCall, "",
	},
	{
		"descriptions of a server with 8,000 tools",
		frames(`{"jsonrpc":"2.0","id":%d,"method":"server","params":{"server":"huge","load":true}}`), oneCall, "",
	},
	{
		"calls of a tool that it does not have",
		frames(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"server":"huge","tool":"none","arguments":{}}}`),
		oneCall, "",
	},
	{
		"lists of resources",
		frames(`{"jsonrpc":"2.0","id":%d,"method":"request",` +
			`"params":{"server":"wide","method":"resources/list","params":{}}}`), oneCall, "",
	},
	{"drawings of 30,000 shapes", drawMany, oneCall, ""},
	{"requests for input", frames(`{"jsonrpc":"2.0","id":%d,"method":"stdin","params":{}}`), oneCall, ""},
	{
		"requests for packages",
		frames(`{"jsonrpc":"2.0","id":%d,"method":"packages/add","params":{"names":["none"]}}`), oneCall, "",
	},
	{"`save_tool` without end", saveMany, saveOne, ""},
	{"a server's log without end", `await mcp_noisy.unasked(what="log")`, oneCall, ""},
	{"log messages of 200,000 empty lists without end", `await mcp_noisy.unasked(what="lists")`, oneCall, ""},
	{"a call's progress without end", `await mcp_noisy.unasked(what="progress")`, oneCall, ""},
	{"a server's news that its tools are others, without end", `await mcp_noisy.unasked(what="tools")`, oneCall, ""},
}

// rareAttacks hold up others for a moment, once in seconds.
var rareAttacks = []attack{
	{"such news of 8,000 tools, each half second", `await mcp_huge.unasked(what="tools", every=500)`, oneCall, ""},
}

const (
	drawMany = `class Drawing:
  def _repr_svg_(self):
    return '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">' + "<g/>" * 30000 + "</svg>"
while True: display(Drawing())`
	saveMany = `import threading
def f(): return 1
async def many():
  while True: save_tool(f)
def one():
  while True: save_tool(f)
for _ in range(8): threading.Thread(target=one, daemon=True).start()
await asyncio.sleep(100)`
	saveOne = "def g(): return 2\nsave_tool(g)"
)

// rounds is how often the neighbours are measured alone and attacked, by turns: the machine may be slower for a while.
const rounds = 5

// A watch is how long neighbours are measured at least, each time, and how long they do nothing before each run.
type watch struct{ window, apart time.Duration }

// What an attacker may do rarely falls into the window as often as it does at any other time. Neighbours that never do
// nothing would have most of their runs while nothing is in their way.
var (
	usual   = watch{window: time.Second}
	forRare = watch{window: 5 * time.Second, apart: 10 * time.Millisecond}
)

// neighbours measures what a session beside the attacker's, and another tenant, notice.
func (b *bench) neighbours(ctx context.Context) error {
	for i, a := range slices.Concat(attacks, rareAttacks) {
		if !strings.Contains(a.what, b.match) {
			continue
		}
		how := usual
		if i >= len(attacks) {
			how = forRare
		}
		if err := b.beside(ctx, a, how); err != nil {
			return fmt.Errorf("%s: %w", a.what, err)
		}
	}
	return nil
}

func (b *bench) beside(ctx context.Context, a attack, how watch) error {
	servers := "MCP_SERVERS_CONFIG=" + b.servers("peer", map[string]any{
		"peer": b.fake(), "noisy": b.fake(),
		"wide": b.self("fakemcp", "-tools", "500", "-resources"),
		"huge": b.self("fakemcp", "-tools", "8000"),
	})
	env := append(strings.Fields(a.env), servers, "CODEMODE_TOOLS_SAVE=true")
	host, _, err := b.connect(ctx, env...)
	if err != nil {
		return err
	}
	defer host.Close()
	tenant, _, err := b.connect(ctx, append(env, "HOME="+b.dir+"/other")...)
	if err != nil {
		return err
	}
	defer tenant.Close()
	neighbours := []struct {
		name string
		cs   *mcp.ClientSession
	}{{"a session", host}, {"a tenant", tenant}}
	var alone, attacked [2][]time.Duration
	measure := func(into *[2][]time.Duration) error {
		since := time.Now()
		for n := 0; n < max(20, b.n) || time.Since(since) < how.window; n++ {
			for i, n := range neighbours {
				<-time.After(how.apart)
				began := time.Now()
				if _, err := pythonIn(ctx, n.cs, "victim", a.victim); err != nil {
					return err
				}
				into[i] = append(into[i], time.Since(began))
			}
		}
		return nil
	}
	var warm [2][]time.Duration
	if err := measure(&warm); err != nil {
		return err
	}
	for range rounds {
		if err := measure(&alone); err != nil {
			return err
		}
		end := b.attack(ctx, host, a.code)
		err := measure(&attacked)
		if err := end(); err != nil {
			return err
		}
		if err != nil {
			return err
		}
	}
	for i, n := range neighbours {
		b.compare(a.what+", "+n.name, alone[i], attacked[i])
	}
	return nil
}

// compare adds what a neighbour notices: its slowest runs take at most 3 times as long as alone.
func (b *bench) compare(what string, alone, attacked []time.Duration) {
	p99, beside := quantile(alone, 99), quantile(attacked, 99)
	ratio := float64(beside) / float64(p99)
	b.add(
		what,
		fmt.Sprintf("p50 %s against %s, p99 %s against %s: %.1f ×", ms(quantile(attacked, 50)),
			ms(quantile(alone, 50)), ms(beside), ms(p99), ratio),
		"3 ×",
		met(ratio <= 3),
	)
}

// attack has a session of its own run code, until end has ended all of it.
func (b *bench) attack(ctx context.Context, cs *mcp.ClientSession, code string) (end func() error) {
	attacking, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = pythonIn(attacking, cs, "attacker", code) // it ends as cancelled
	}()
	<-time.After(time.Second) // until it is in full swing
	return func() error {
		stop()
		<-over
		_, _ = pythonIn(ctx, cs, "attacker", "import os; os._exit(0)") // with all of its processes
		_, err := pythonIn(ctx, cs, "attacker", "pass")
		<-time.After(2 * time.Second) // for what servers are still busy with
		return err
	}
}

// quantile is the n-th of a hundred, by the nearest rank: no more than n of a hundred are below it.
func quantile(d []time.Duration, n int) time.Duration {
	slices.Sort(d)
	return d[max(0, (len(d)*n+99)/100-1)]
}
