package bridge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codemode/internal/config"
)

// case 33: a server that dies in a call is told with its last words, and the next call starts it again.
func TestServerCrash(t *testing.T) {
	k := newKit(t, nil, fake("fake"))
	got := k.text(
		"import mcp\ntry: await mcp_fake.crash()\nexcept mcp.ToolError as e: print(e)\nprint(await mcp_fake.echo(message='again'))",
	)
	contains(
		t, got, "fakemcp: crashing as told", "exit status 3", "\nagain\n", "whose outcome is unknown:\n  fake.crash {}",
	)
	// Calls under way end with it, also those of other sessions.
	waiting := make(chan string, 1)
	go func() {
		waiting <- k.run(Request{Session: "other", Code: "await mcp_fake.slow(ms=60000)"}).compact()
	}()
	k.waitForLog("fakemcp: slow is under way")
	k.text("try: await mcp_fake.crash()\nexcept mcp.ToolError: pass")
	contains(t, <-waiting, "mcp.ToolError: ", "exit status 3", notYours)
}

// case 34: a server that hangs costs its own limit and nobody else anything.
func TestServerHangs(t *testing.T) {
	k := newKit(t, func(o *Options) {
		o.Config.Servers.StartTimeout, o.Config.Servers.CallTimeout = 4*time.Second, 2*time.Second
	}, fake("init", "-hang", "initialize"), fake("list", "-hang", "tools/list"), fake("call", "-hang", "call"), fake("good"))
	got := k.text(`
import time
began, ends = time.monotonic(), {}
async def attempt(name):
    try:
        answer = await mcp_servers[name].echo(message="quick")
    except runtime.MCPError as e:
        answer = f"{type(e).__name__}: {e}"
    ends[name] = time.monotonic()
    return f"{name}: {answer}"
print("\n".join(await asyncio.gather(*map(attempt, ["init", "list", "call", "good"]))))
print("good" if ends["good"] < min(ends[n] for n in ends if n != "good") else ends)
`)
	want(t, got, `init: MCPError: server "init": initialize: starting the server took longer than 4s
list: MCPError: server "list": tools/list: starting the server took longer than 4s
call: ToolError: tool "echo" of server "call" took longer than 2s
good: quick
good
calls that were sent and not answered, whose outcome is unknown:
  call.echo {"message":"quick"}`)
	// Named for a run, a server that does not start is told and does not keep the run from going on.
	out := k.run(Request{Servers: []string{"init", "good"}, Code: "print(await mcp_good.echo(message='on'))"})
	want(t, string(out.Stdout.Head), "on\n")
	if len(out.Notes) != 1 || !strings.HasPrefix(out.Notes[0], `server "init": `) {
		t.Errorf("notes %q", out.Notes)
	}
}

// case 34: a search does not wait long for a server that hangs, and says whose tools it has not seen.
func TestSearchDoesNotWait(t *testing.T) {
	k := newKit(t, nil, fake("hang", "-hang", "initialize"), fake("good"))
	k.servers.Patience = 300 * time.Millisecond
	k.text("await mcp_good.echo(message='x')") // on a busy machine its start would take longer than that
	got := k.text(
		"for _ in range(2): print([d['tool'] for d in await runtime.search_tool_docs('add two numbers', limit=1)])",
	)
	want(t, got, "['add']\n['add']\nnote: the search did not see the tools of hang: not started yet")
}

// case 34: neither cancelling a run nor closing the bridge waits for a server that starts.
func TestNobodyWaitsForAStart(t *testing.T) {
	k := newKit(t, nil, fake("hang", "-hang", "initialize"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	start := func(ctx context.Context, session string) <-chan Outcome {
		ended := make(chan Outcome, 1)
		go func() {
			ended <- k.Run(ctx, Request{Session: session, Servers: []string{"hang"}, Code: "print('ran')"})
		}()
		k.eventually("the sandbox is up", func() bool {
			s, err := k.session(session)
			if err != nil {
				t.Fatal(err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.live != nil
		})
		return ended
	}
	cancelled, closed := start(ctx, "a"), start(t.Context(), "b")
	cancel()
	want(t, (<-cancelled).compact(), "status: cancelled\nexit: 130\nerror: cancelled before it began")
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if out := <-closed; out.Status == StatusSuccess || len(out.Stdout.Head) > 0 {
		t.Errorf("%s", out.compact())
	}
}

// A call that nobody may make says why.
func TestUnavailableServers(t *testing.T) {
	k := newKit(t, nil, fake("fake"), fake("other"))
	k.text("1")
	s, err := k.session(defaultSession)
	if err != nil {
		t.Fatal(err)
	}
	l := s.live
	want(t, l.whyNot("fake"), "; no run is under way")
	want(t, l.whyNot("fkae"), `; did you mean "fake"?`)
	want(t, l.whyNot("nothing like it"), "; there are fake, other")
	got := k.run(Request{Servers: []string{"other"}, Code: "await mcp_servers['fake'].echo(message='x')"}).compact()
	contains(t, got, "Server 'fake' is not available: this run was given 'other'")
}

// case 35: a server that cannot start is named, with the reason and what it said.
func TestServerDoesNotStart(t *testing.T) {
	nowhere := fake("nowhere")
	nowhere.Cwd = "/no/such/folder"
	k := newKit(
		t, nil, fake("exits", "-exit-at-start", "7"), config.Server{Name: "missing", Command: "no-such-program"},
		nowhere,
	)
	for _, c := range []struct{ name, reason, more string }{
		{"exits", "exit status 7", "fakemcp: cannot start"},
		{"missing", `"no-such-program"`, "PATH"},
		{"nowhere", "/no/such/folder", "no such file"},
	} {
		t.Run("case 35 "+c.name, func(t *testing.T) {
			got := k.text(fmt.Sprintf("await mcp_%s.echo(message='x')", c.name))
			contains(t, got, "status: error", fmt.Sprintf("mcp.MCPError: server %q: ", c.name), c.reason, c.more)
			out := k.run(Request{Code: "print('on')", Servers: []string{c.name}})
			want(t, string(out.Stdout.Head), "on\n")
			contains(t, strings.Join(out.Notes, "\n"), fmt.Sprintf("server %q: ", c.name), c.reason)
		})
	}
}

// case 38: however many ask first, one process is started.
func TestFirstCallsAtOnce(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	k := newKit(t, nil, fake("fake", "-starts", starts, "-start-delay", "100ms"))
	want(t, k.text("len(set(await asyncio.gather(*(mcp_fake.pid() for _ in range(4)))))"), "result: 1")
	want(t, k.run(Request{Session: "other", Code: "len({await mcp_fake.pid()})"}).compact(), "result: 1")
	data, err := os.ReadFile(starts)
	if n := strings.Count(string(data), "\n"); err != nil || n != 1 {
		t.Errorf("%d starts, %v", n, err)
	}
}

// case 39: what a server writes besides messages is skipped, and its stderr kept as a tail.
func TestNoisyServer(t *testing.T) {
	quiet := func(o *Options) { o.Log = nil } // the test's own log is not to be measured
	k := newKit(t, quiet, fake("noisy", "-banner", "-garbage", "-chatty-stderr", "20000000"))
	peak := watchHeap(t)
	want(t, k.text("await mcp_noisy.echo(message='clear')"), "result: 'clear'")
	got := k.text("await mcp_noisy.crash()")
	contains(t, got, "mcp.ToolError: ", "end of chatter", "crashing as told")
	if len(got) > 16<<10 {
		t.Errorf("%d bytes of error", len(got))
	}
	if p := peak(); p > 64<<20 {
		t.Errorf("the heap grew to %d MiB", p>>20)
	}
}

// TestSharedStderr: once several sessions have used a server, none is shown what it wrote, which may be of the others.
func TestSharedStderr(t *testing.T) {
	k := newKit(t, nil, fake("fake"))
	crash := func(session string) string {
		out := k.run(Request{Session: session, Code: `
await asyncio.gather(*(mcp_fake.complain(message="sent by ` + session + `") for _ in range(3)), return_exceptions=True)
await mcp_fake.crash()`})
		return out.Error
	}
	contains(t, crash("one"), "sent by one", "crashing as told")
	if got := crash("two"); strings.Contains(got, "sent by") || !strings.Contains(got, notYours) {
		t.Errorf("it was told: %s", got)
	}
}

// case 42: a tool that comes to be within a run can be called in it at once, and one that comes between runs
// in the next.
func TestToolsChange(t *testing.T) {
	k := newKit(t, nil, fake("fake"))
	for _, servers := range [][]string{nil, {"fake"}} {
		out := k.run(Request{Session: fmt.Sprint(servers), Servers: servers, Code: `
name = await mcp_fake.grow()
print(await getattr(mcp_fake, name)() == name)
name = await mcp_fake.grow()
print(await runtime.call_tool("fake", name) == name)`})
		want(t, out.compact(), "True\nTrue")
	}
	// Another session makes one more; this one knows it in its next run.
	grown := string(k.run(Request{Session: "other", Code: "print(await mcp_fake.grow(), end='')"}).Stdout.Head)
	want(t, k.run(Request{Session: "[]", Code: fmt.Sprintf("print(await mcp_fake.%s())", grown)}).compact(), grown)
}

// case 43: a hundred servers of ten tools at once.
func TestHundredServers(t *testing.T) {
	k := newKit(t, nil, crowd(100, "-tools", "10")...)
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("server-%d", i))
	}
	out := k.Run(t.Context(), Request{Timeout: time.Minute, Servers: names, Code: `
print(len(LOADED_MCP_SERVERS), sum(len(s["tools"]) >= 10 for s in runtime.list_loaded_server_metadata()))
answers = await asyncio.gather(*(s.tool_10(message=n) for n, s in mcp_servers.items()))
print(answers == [f"tool_10: server-{i}" for i in range(100)])
found = await runtime.search_tool_docs("tool number 7", limit=20)
print(len({doc["tool"] for doc in found}) == len(found) > 9, "and 97 more" in str(found))`})
	want(t, out.compact(), "100 100\nTrue\nTrue True")
}

// case 45: nothing of a server's environment, of codemode's own or of its proxies is to be seen in the sandbox, in
// a result or in the log.
func TestSecretsStayOutside(t *testing.T) {
	t.Setenv("CODEMODE_TEST_SECRET", "own-s3cret")
	t.Setenv("HTTPS_PROXY", "http://user:proxy-s3cret@proxy.example")
	t.Setenv("EXPANDED", "expanded-s3cret")
	k := newKit(
		t, nil,
		with(with(fake("fake", "-say", "hello $TOKEN and $MORE"), "TOKEN", "entry-s3cret"), "MORE", "${EXPANDED}"),
	)
	got := k.text(`
import glob, os, sys
await mcp_fake.echo(message="up")
seen = [dict(os.environ), sys.argv, sys.orig_argv, runtime.list_loaded_server_metadata(), dir(), {k: repr(v) for k, v in globals().items()}]
for name in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
    try: seen.append(open(name, "rb").read())
    except OSError: pass
print(seen)
await mcp_fake.crash()`)
	contains(t, got, "hello *** and ***")
	for _, secret := range []string{"own-s3cret", "proxy-s3cret", "entry-s3cret", "expanded-s3cret"} {
		if strings.Contains(got, secret) {
			t.Errorf("%q is in the result:\n%s", secret, got)
		}
		if strings.Contains(k.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
	// The server itself has what its entry names, and a proxy.
	got = k.text("print(await mcp_fake.env())")
	contains(t, got, "TOKEN=entry-s3cret", "MORE=expanded-s3cret", "HTTPS_PROXY=")
	if strings.Contains(got, "own-s3cret") {
		t.Error("the server has codemode's own environment")
	}
}
