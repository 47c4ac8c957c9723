package bridge

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codemode/internal/audit"
	"codemode/internal/config"
)

// TestSentAndNotAwaited is about a run that sends twenty calls and ends: whatever came of them, the text, the receipt
// and the log say that each was sent and not answered.
func TestSentAndNotAwaited(t *testing.T) {
	dir := t.TempDir()
	k := newKit(t, func(o *Options) {
		o.AuditDir, o.Config.Audit = dir, config.Audit{MaxSize: 1 << 20, Keep: 2}
	}, fake("notes", "-notes", filepath.Join(t.TempDir(), "notes"), "-hang", "call"))
	out := k.run(Request{Servers: []string{"notes"}, Code: `
calls = [asyncio.create_task(runtime.call_tool("notes", "delete_note", {"message": f"m{i}"})) for i in range(20)]
await asyncio.sleep(2)`})
	if out.Status != StatusSuccess {
		t.Fatal(out.compact())
	}
	if got := out.Receipt.ByTool["notes.delete_note"]; got != (Tally{Unanswered: 20}) {
		t.Errorf("the receipt has %+v", got)
	}
	if len(out.Effects.Unanswered) != 20 || len(out.Effects.Done) != 0 {
		t.Errorf("the effects are %q", out.Effects)
	}
	text := out.compact()
	for i := range 20 {
		contains(t, text, fmt.Sprintf(`  notes.delete_note {"message":"m%d"}`, i))
	}
	contains(t, text, "calls that were sent and not answered, whose outcome is unknown:\n")
	k.Close()
	var ended []string
	if _, err := audit.Read(dir, func(r audit.Record, _ []byte) {
		if r.Tool != "" {
			ended = append(ended, string(r.Event)+" "+r.Outcome)
		}
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(ended)
	want := strings.Repeat(string(audit.Called)+" unanswered,", 20) + strings.Repeat(string(audit.Sending)+" ,", 20)
	if got := strings.Join(ended, ",") + ","; got != want {
		t.Errorf("the log has %s", got)
	}
}

// TestCancelledBeforeSent is about calls whose code waits no longer while they wait for their turn: nobody is told that
// they may have been done, or that a policy denied them.
func TestCancelledBeforeSent(t *testing.T) {
	dir := t.TempDir()
	k := newKit(t, func(o *Options) {
		o.AuditDir, o.Config.Audit = dir, config.Audit{MaxSize: 1 << 20, Keep: 2}
		o.Config.Policy.Rules.Concurrency = 1
	}, fake("notes", "-notes", filepath.Join(t.TempDir(), "notes"), "-hang", "call"))
	out := k.run(Request{Servers: []string{"notes"}, Code: `
calls = [asyncio.create_task(runtime.call_tool("notes", "delete_note", {"message": f"m{i}"})) for i in range(3)]
await asyncio.sleep(2)
for c in reversed(calls):  # the first one last: its place would be the next one's
    c.cancel()
await asyncio.gather(*calls, return_exceptions=True)
await asyncio.sleep(1)  # nobody tells code that its cancellation has come to the host
`})
	if out.Status != StatusSuccess {
		t.Fatal(out.compact())
	}
	if got := out.Receipt.ByTool["notes.delete_note"]; got != (Tally{Unsent: 2, Unanswered: 1}) {
		t.Errorf("the receipt has %+v", got)
	}
	if len(out.Effects.Unanswered) != 1 {
		t.Errorf("the effects are %q", out.Effects)
	}
	k.Close()
	ended := map[string]int{}
	if _, err := audit.Read(dir, func(r audit.Record, _ []byte) {
		if r.Event == audit.Called {
			ended[r.Tool+" "+r.Outcome]++
		}
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"delete_note unsent": 2, "delete_note unanswered": 1}
	if !maps.Equal(ended, want) {
		t.Errorf("the log has %v, want %v", ended, want)
	}
}

// TestStartedOnceForARun holds that a server that was named and did not start is not started once more by the run's code,
// and is by the next run.
func TestStartedOnceForARun(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	k := newKit(t, nil, fake("down", "-starts", starts, "-exit-at-start", "3"))
	for i, code := range []string{"await mcp_down.echo(message='x')", "await mcp_down.resources.list()"} {
		n := i + 1
		out := k.run(Request{Servers: []string{"down"}, Code: code})
		contains(t, out.compact(), `server "down"`, "exit status 3")
		text, err := os.ReadFile(starts)
		if err != nil || strings.Count(string(text), "\n") != n {
			t.Errorf("after run %d there were these starts: %q, %v", n, text, err)
		}
	}
}
