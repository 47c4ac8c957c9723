package bridge

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"codemode/internal/fakemcp"
	"codemode/internal/require"
)

// Tool calls, from code to server and back. Each case is code and what a model sees of it; a want that ends with …
// is the beginning.
func TestCallCases(t *testing.T) {
	big := 3 << 20
	if require.Named("soak") {
		big = 30 << 20
	}
	k := newKit(t, nil, fake("fake"), fake("odd", "-odd-names"), fake("paged", "-tools", "23", "-pages", "5"),
		fake("servers"), fake("import"), fake("runtime"), fake("mcp"))
	for _, c := range []struct{ name, code, want string }{
		{
			"case 30 results", fmt.Sprintf("[len(await mcp_fake.big(n=n)) for n in (64 << 10, 1 << 20, %d)]", big),
			fmt.Sprintf("result: [65536, 1048576, %d]", big),
		},
		{
			"case 30 arguments", fmt.Sprintf("[len(await mcp_fake.echo(message='x' * n)) for n in (64 << 10, %d)]", big/3),
			fmt.Sprintf("result: [65536, %d]", big/3),
		},
		{
			"case 31 structured", "p = await mcp_fake.structured()\np, p.name, p['age'], p.tags[1]",
			"result: ({'age': 36, 'name': 'Ada', 'tags': ['a', 'b']}, 'Ada', 36, 'b')",
		},
		{"case 31 wrapped", "await mcp_fake.wrapped()", "result: 42"},
		{
			"case 31 media", "i, a = await mcp_fake.image(), await mcp_fake.audio()\n(type(i).__name__, i.mime_type, i.data[:4]), (type(a).__name__, a.mime_type, a.data)",
			`result: (('Image', 'image/png', b'\x89PNG'), ('Audio', 'audio/wav', b'RIFF'))`,
		},
		{
			"case 31 resources", "r, l = await mcp_fake.resource(), await mcp_fake.link()\n(type(r).__name__, r.uri, r.text), (type(l).__name__, l.uri, l.name, l.text)",
			"result: (('Resource', 'fake://one', 'one'), ('Resource', 'fake://two', 'two', None))",
		},
		{
			"case 31 several blocks", "[m.n if isinstance(m, dict) else m if isinstance(m, str) else type(m).__name__ for m in await mcp_fake.multi()]",
			"result: [1, 'Image', 'plain', 'Audio', 'Resource', 'Resource']",
		},
		{"case 31 raw", "r = await mcp_fake.image.raw()\nr['_meta'], r['content'][0]['type']", "result: ({'fake/kind': 'image'}, 'image')"},
		{
			"case 32 isError", "import mcp\ntry:\n    await mcp_fake.fail(message='no good')\nexcept mcp.ToolError as e:\n" +
				"    print(e, '|', e.server, e.tool, e.arguments, e.content, isinstance(e, runtime.MCPError), isinstance(e, RuntimeError))",
			"no good | fake fail {'message': 'no good'} [{'type': 'text', 'text': 'no good'}] True True",
		},
		{
			"case 32 JSON-RPC error", "try:\n    await mcp_fake.refuse()\nexcept mcp.ToolError as e:\n    print(e, '|', e.code, e.data)",
			"no such luck | -32042 {'why': ['a', 1.5]}",
		},
		{
			"case 32 uncaught", "await mcp_fake.fail(message='no good')",
			"status: error\nexit: 1\nerror:   File \"<run 1>\", line 1\n    await mcp_fake.fail(message='no good')\nmcp.ToolError: fake.fail(message='no good'): no good",
		},
		{
			"case 36 wait_for", "import time\nprint('before')\nbegan = time.monotonic()\ntry:\n    await asyncio.wait_for(mcp_fake.slow(ms=60000), 0.2)\n" +
				"except TimeoutError: print('TimeoutError', time.monotonic() - began < 50)\nprint(await mcp_fake.echo(message='after'))",
			"before\nTimeoutError True\nafter\ncalls that were sent and not answered, whose outcome is unknown:\n  fake.slow {\"ms\":60000}",
		},
		{
			"case 37 gather", "await mcp_fake.echo(message='up')\nbegan = time.monotonic()\nawait asyncio.gather(*(mcp_fake.slow(ms=1000) for _ in range(60)))\ntime.monotonic() - began < 50",
			"result: True",
		},
		{"case 40 positional", "await mcp_fake.add(1, 2), await mcp_fake.echo('by position')", "result: ('3', 'by position')"},
		{"case 40 missing", "await mcp_fake.echo()", "status: error\nexit: 1\nerror:   File \"<run 1>\", line 1\n    await mcp_fake.echo()\nTypeError: echo() is missing 'message'; it is echo(message: str) -> …"},
		{"case 40 wrong name", "await mcp_fake.echo(mesage='x')", "status: error\nexit: 1\nerror:   File \"<run 1>\", line 1\n    await mcp_fake.echo(mesage='x')\nTypeError: echo() got an unexpected argument 'mesage' (did you mean 'message'?); it is echo(message: str) -> …"},
		{"case 40 too many", "await mcp_fake.echo('a', 'b')", "status: error\nexit: 1\nerror:   File \"<run 1>\", line 1\n    await mcp_fake.echo('a', 'b')\nTypeError: echo() takes 1 positional argument but 2 were given; it is echo(message: str) -> …"},
		{"case 40 NaN", "await mcp_fake.add(float('nan'), 1)", "status: error\nexit: 1\nerror:   File \"<run 1>\", line 1\n    await mcp_fake.add(float('nan'), 1)\nValueError: argument 'a': nan cannot be sent as JSON"},
		{"case 40 values", "import dataclasses, datetime, pathlib\n@dataclasses.dataclass\nclass P:\n    x: int\n" +
			"print(await mcp_fake.arguments.raw(b=b'\\0\\xff', s={2, 1}, p=P(1), d=datetime.date(2026, 1, 2), f=pathlib.PurePosixPath('a/b'), n=None, t=(1, 2))" +
			")", "{'content': [{'text': '{\"b\":\"AP8=\",\"s\":[1,2],\"p\":{\"x\":1},\"d\":\"2026-01-02\",\"f\":\"a/b\",\"n\":null,\"t\":[1,2]}', 'type': 'text'}]}"},
		{
			"case 41 servers", "[await mcp_servers[n].echo(message=n) for n in ('servers', 'import', 'runtime', 'mcp')], await mcp_runtime.echo('r'), await mcp_import_.echo('i')",
			"result: (['servers', 'import', 'runtime', 'mcp'], 'r', 'i')",
		},
		{"case 42 pages", "sum(t['name'].startswith('tool_') for t in await runtime.list_tools('paged')), await mcp_paged.tool_23(message='x')", "result: (23, 'tool_23: x')"},
		{
			"case 44 lone surrogate", "try: print(await mcp_fake.echo(message='a\\ud800b'))\nexcept ValueError as e: print(e)\nprint(await mcp_fake.echo(message='fine'))",
			"argument 'message': the lone surrogate '\\ud800' at 1 cannot be sent as JSON\nfine",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k.run(Request{Session: t.Name(), Code: "import mcp, time", Script: true})
			got := k.run(Request{Session: t.Name(), Code: c.code}).compact()
			got = strings.ReplaceAll(got, "<run 2>", "<run 1>")
			if begin, ok := strings.CutSuffix(c.want, "…"); ok && strings.HasPrefix(got, begin) {
				return
			}
			want(t, got, c.want)
		})
	}
	// case 41: every tool is reachable by a name that is its own and a legal one.
	t.Run("case 41 tools", func(t *testing.T) {
		got := k.run(Request{Code: "tools = await runtime.list_tools('odd')\nassert len({t['alias'] for t in tools}) == len(tools)\n" +
			"import keyword\nfor t in tools:\n    a = t['alias']\n    assert a.isidentifier() and not keyword.iskeyword(a), a\n" +
			"    print(str(await getattr(mcp_odd, a)()).partition(' {')[0])\n" +
			"    assert await runtime.call_tool('odd', t['name']) == await getattr(mcp_odd, a)()"}).
			compact()
		var names []string
		for _, name := range fakemcp.OddNames() {
			names = append(names, fmt.Sprintf("%q", name))
		}
		want(t, got, strings.Join(names, "\n"))
	})
}

// case 36: what nobody waits for any more is cancelled at the server, too.
func TestWaitForCancelsUpstream(t *testing.T) {
	k := newKit(t, patiently, fake("fake"))
	k.text("await mcp_fake.echo(message='up')") // what waits for the server's start alone never reaches it
	want(
		t, k.text("try: await asyncio.wait_for(mcp_fake.slow(ms=60000), 0.1)\nexcept TimeoutError: print('timed out')"),
		"timed out\ncalls that were sent and not answered, whose outcome is unknown:\n  fake.slow {\"ms\":60000}",
	)
	k.waitForLog("fakemcp: slow was cancelled")
	// The same when the run ends before its call does.
	timeout := k.soon("")
	out := k.run(
		Request{
			Code:    "await asyncio.gather(mcp_fake.slow(ms=60000), mcp_fake.complain(message='second'))",
			Timeout: timeout,
		},
	)
	contains(
		t, out.compact(),
		"status: timeout\nexit: 124\nerror: timeout after "+seconds(timeout)+"; the session's variables are still there\n",
		"await asyncio.gather(", "KeyboardInterrupt",
	)
	k.eventually(
		"the second call is cancelled",
		func() bool { return strings.Count(k.log.String(), "fakemcp: slow was cancelled") == 2 },
	)
}

// case 5: code that cleans up after its interrupt may call tools; what then holds up the end is ended in time.
func TestCleanupCallsTools(t *testing.T) {
	k := newKit(t, func(o *Options) { o.Config.Run.Grace = 3 * time.Second }, fake("fake"))
	k.text("await mcp_fake.echo(message='up')")
	timeout := k.soon("")
	out := k.run(Request{Timeout: timeout, Code: "" +
		"try: await mcp_fake.slow(ms=60000)\n" +
		"finally:\n    print(await mcp_fake.echo(message='cleaned up'))\n    await mcp_fake.slow(ms=60000)"})
	contains(
		t, out.compact(),
		"status: timeout\nexit: 124\ncleaned up\nerror: timeout after "+seconds(timeout)+"; the session's variables are still there",
	)
}

// case 5: a call too large to be read now, since others are to be, keeps no run from ending.
func TestDeadlineBeforeLargeCall(t *testing.T) {
	k := newKit(t, func(o *Options) { o.Config.Run.Grace = 3 * time.Second }, fake("fake"))
	k.text("x = 41\nawait mcp_fake.echo(message='up')")
	defer k.readings.runs.Join("another", 1).Leave()
	for name := range k.sessions {
		k.readings.took(name, time.Minute)
	}
	timeout := k.soon("")
	out := k.run(Request{Timeout: timeout, Code: "" +
		"await asyncio.gather(mcp_fake.slow(ms=60000), mcp_fake.echo(message='x' * 3_000_000))"})
	contains(t, out.compact(), "timeout after "+seconds(timeout)+"; the session's variables are still there")
	want(t, k.text("print(x)"), "41")
}

// Calls that one run makes at once do not get each other's answers.
func TestManyCallsAtOnce(t *testing.T) {
	k := newKit(t, nil, fake("a"), fake("b"))
	want(
		t,
		k.text(
			"answers = await asyncio.gather(*((mcp_a, mcp_b)[i % 2].echo(message=str(i)) for i in range(1000)))\nanswers == [str(i) for i in range(1000)]",
		),
		"result: True",
	)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out := k.Run(ctx, Request{Code: "1"}); out.Status != StatusCancelled {
		t.Errorf("%s", out.compact())
	}
}

// A call that could block its thread must not where anything else can go on meanwhile: a task that waits for another
// call, a thread, a timer.
func TestCallHoldsUpNothing(t *testing.T) {
	k := newKit(t, nil, fake("fake"))
	k.text("await mcp_fake.echo(message='up')")
	for name, setUp := range map[string]string{
		"call": "async def other():\n    await mcp_fake.slow(ms=1)\n    await mcp_fake.slow(ms=1)\n    order.append('other')\n" +
			"task = asyncio.create_task(other())\nawait asyncio.sleep(0)",
		"thread": "import threading\nloop = asyncio.get_running_loop()\ntask = loop.create_future()\n" +
			"def set():\n    order.append('other')\n    task.set_result(None)\n" +
			"threading.Timer(0.01, loop.call_soon_threadsafe, [set]).start()",
		"timer": "async def other():\n    await asyncio.sleep(0.01)\n    order.append('other')\ntask = asyncio.create_task(other())\nawait asyncio.sleep(0)",
		"ready": "async def other():\n    order.append('other')\ntask = asyncio.create_task(other())",
		"descriptor": "import os, subprocess, sys\nr, w = os.pipe()\nloop = asyncio.get_running_loop()\ntask = loop.create_future()\n" +
			"def ready():\n    loop.remove_reader(r)\n    order.append('other')\n    task.set_result(None)\nloop.add_reader(r, ready)\n" +
			"child = subprocess.Popen([sys.executable, '-c', 'print()'], stdout=w)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := "order = []\n" + setUp + "\nawait mcp_fake.slow(ms=1000)\norder.append('main')\nawait task\norder"
			want(t, k.run(Request{Session: t.Name(), Code: code}).compact(), "result: ['other', 'main']")
		})
	}
}

// Far more calls than are worked on at once: those that wait are cancelled at once, and the rest is side by side.
func TestMoreCallsThanAreWorkedOn(t *testing.T) {
	k := newKit(t, nil, fake("fake"))
	want(
		t,
		k.text(
			"import time\nbegan = time.monotonic()\nawait asyncio.gather(*(mcp_fake.slow(ms=50) for _ in range(1000)))\ntime.monotonic() - began < 40",
		),
		"result: True",
	) // one after the other they take 50 s
	contains(
		t,
		k.text(
			"async def impatient():\n    try: await asyncio.wait_for(mcp_fake.slow(ms=60000), 1)\n    except TimeoutError: return 1\n"+
				"began = time.monotonic()\nn = sum(await asyncio.gather(*(impatient() for _ in range(600))))\nn, time.monotonic() - began < 100, await mcp_fake.echo(message='after')",
		),
		"result: (600, True, 'after')",
	)
}
