package bridge

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"codemode/internal/config"
	"codemode/internal/proc/proctest"
	"codemode/internal/servers"
)

// update gives the bridge other servers, in the environment of those that newKit has got.
func (k *kit) update(all ...config.Server) servers.Changes {
	k.t.Helper()
	for i := range all {
		all[i] = with(all[i], proctest.Variable, k.opts.Servers().All[0].Env[proctest.Variable])
	}
	return k.servers.Update(servers.NewSet(all, nil))
}

// A live session has the servers of now at its next run, and its variables.
func TestUpdateOfALiveSession(t *testing.T) {
	k := newKit(t, nil, fake("same"), fake("changed"), fake("gone"))
	k.text("import mcp\npids = [await s.pid() for s in (mcp_same, mcp_changed, mcp_gone)]")
	c := k.update(fake("same"), fake("changed", "-tools", "1"), fake("added"))
	want(t, fmt.Sprint(c), "{[added] [gone] [changed]}")
	want(t, k.text("runtime.discovered_servers()"), "result: ('same', 'changed', 'added')")
	want(t, k.text("[await s.pid() == p for s, p in zip((mcp_same, mcp_changed), pids)]"), "result: [True, False]")
	want(t, k.text("await mcp_changed.tool_1(message='new')"), "result: 'tool_1: new'")
	want(t, k.text("await mcp_added.echo(message='hi')"), "result: 'hi'")
	contains(t, k.text("await mcp_gone.pid()"), "mcp_gone")
	contains(t, k.text("await mcp.runtime.query_tool_docs('gone')"), "Server 'gone' is not available")
	want(t, k.text("[d['server'] for d in await runtime.search_tool_docs('tool_1', limit=1)]"), "result: ['changed']")
	out := k.run(Request{Servers: []string{"gone"}, Code: "1"})
	want(t, string(out.Status), string(StatusValidationError))
	contains(t, out.Error, `there is no server "gone"`)
	k.update(fake("same"), fake("changed", "-tools", "1"), fake("gone"))
	want(t, k.text("await mcp_gone.echo(message='back')"), "result: 'back'")
}

// A run under way keeps what it has, gets what is changed as it is now, and is refused what is gone.
func TestUpdateDuringARun(t *testing.T) {
	k := newKit(t, nil, fake("gone"), fake("changed"))
	k.text("await asyncio.gather(mcp_gone.pid(), mcp_changed.pid())")
	ended := make(chan Outcome, 1)
	go func() {
		ended <- k.run(Request{Servers: []string{"gone", "changed"}, Code: `
import mcp
slow = asyncio.create_task(mcp_gone.slow(ms=10_000 // 10))
before = await mcp_changed.pid()
print('under way')
while await mcp_changed.pid() == before: await asyncio.sleep(0.01)
try: await mcp_gone.echo(message='x')
except mcp.MCPError as e: print(e)
print(await slow)
`})
	}()
	k.eventually("the call is under way", func() bool {
		l := k.liveOf(defaultSession)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.run == nil {
			return false
		}
		calls := l.run.stats
		calls.mu.Lock()
		defer calls.mu.Unlock()
		slow := slices.ContainsFunc(
			slices.Collect(maps.Keys(calls.underWay)), func(e *entry) bool { return e.name == "gone.slow" },
		)
		return slow && calls.byTool["changed.pid"].OK > 1
	})
	k.update(fake("changed", "-tools", "1"))
	out := <-ended
	contains(t, string(out.Stdout.Head), "Server 'gone' is not available", "waited 1000 ms")
	want(t, string(out.Status), string(StatusSuccess))
}

// liveOf is the guest of a session.
func (k *kit) liveOf(session string) *live {
	k.t.Helper()
	k.mu.Lock()
	s := k.sessions[session]
	k.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live
}

// Runs of several sessions while servers come and go: none of them breaks.
func TestUpdatesBesideRuns(t *testing.T) {
	k := newKit(t, nil, fake("stub"))
	var work sync.WaitGroup
	for i := range 2 {
		work.Go(func() {
			for range 10 {
				out := k.run(Request{Session: fmt.Sprint("s", i), Code: "await mcp_stub.echo(message='x')"})
				if got := out.compact(); got != "result: 'x'" {
					t.Error(got)
				}
			}
		})
	}
	for i := range 10 {
		k.update(fake("stub", "-tools", fmt.Sprint(i%2)), fake(fmt.Sprint("other", i)))
		contains(
			t, k.run(Request{Session: "third", Code: fmt.Sprintf("await mcp_other%d.pid()", i)}).compact(), "result: ",
		)
	}
	work.Wait()
}

// TestReturnsWithOtherTools holds that no call is sent to a server that has ended and come back with another definition
// of the tool than the one that policy went by, and that the next call is judged by the new one.
func TestReturnsWithOtherTools(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	k := newKit(t, func(o *Options) {
		o.Config.Policy.Allow = []string{"readonly", "fake.crash"}
	}, fake("fake", "-notes", notes, "-turns"))
	got := k.text(`import mcp
print(await mcp_fake.get_note(message='first'))
try: await mcp_fake.crash()
except mcp.ToolError: pass
for _ in range(2):
    print(await asyncio.gather(*(mcp_fake.get_note(message='later') for _ in range(4)), return_exceptions=True))
`)
	contains(t, got, "get_note: first", "has changed since the call was judged", "policy denies fake.get_note")
	text, err := os.ReadFile(notes)
	if want(t, string(text), "get_note first\n"); err != nil {
		t.Error(err)
	}
}

// TestAgreedForTheseTools holds that what the user has agreed to for a session is not sent to a server that has ended
// and come back with other tools, even where the tool itself is the same: they are asked again.
func TestAgreedForTheseTools(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	k := newKit(t, func(o *Options) {
		o.Config.Policy.Confirm = []string{"fake.add_note", "fake.resources/read"}
	}, fake("fake", "-notes", notes, "-turns", "-resources"))
	var asked []string
	answer := ForSession
	run := func(code string) string {
		return k.run(Request{Code: "import mcp\n" + code, Ask: func(_ context.Context, q Question) (Answer, error) {
			asked = append(asked, q.Tool)
			return answer, nil
		}}).compact()
	}
	const call, read = "mcp_fake.add_note(message='x')", "mcp_fake.resources.read('fake://text')"
	for range 2 {
		contains(t, run("print(await "+call+", await "+read+")"), "add_note: x", "text of fake://text")
	}
	if got := strings.Join(asked, " "); got != "add_note resources/read" {
		t.Errorf("asked for %s", got)
	}
	for _, what := range []string{call, read} {
		answer = ForSession
		run("await " + call + ", await " + read)
		asked, answer = nil, No
		if what == read {
			if err := os.Remove(notes); err != nil { // so that it comes back with the first list
				t.Fatal(err)
			}
		}
		before, _ := os.ReadFile(notes)
		got := run(fmt.Sprintf(`
try: await mcp_fake.crash()
except mcp.ToolError: pass
for r in await asyncio.gather(*(%s for _ in range(4)), return_exceptions=True): print(r)
print(await %s)`, what, what))
		contains(t, got, "tools have changed since its user was asked", "the user said no")
		if after, _ := os.ReadFile(notes); string(after) != string(before) || strings.Contains(got, "text of") {
			t.Errorf("%s was sent: %s", what, got)
		}
		if len(asked) != 1 {
			t.Errorf("asked for %q", asked)
		}
	}
}
