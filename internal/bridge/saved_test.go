package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codemode/internal/audit"
	"codemode/internal/bridge/bridgetest"
	"codemode/internal/catalog"
	"codemode/internal/quota"
	"codemode/internal/servers"
	"codemode/internal/toolbox"
)

// saving is a kit that keeps saved tools.
func saving(t *testing.T, k *kit) *kit {
	t.Helper()
	k.saved = newSaved(t.TempDir(), nil)
	k.opts.Config.Tools.Save = true
	return k
}

const saveReport = `
async def weekly_report(week: int = 1) -> str:
    "Make the weekly report of sales."
    return await mcp_data.echo(message=f"week {week}")

save_tool(weekly_report)
print(await weekly_report(2))
`

// What is saved in one session is there in the next, and is found and documented.
func testSavedTool(t *testing.T, k *kit) {
	contains(
		t,
		k.run(Request{Session: "a", Code: saveReport}).compact(),
		"week 2",
		`saved the tool "weekly_report" for later sessions`,
	)
	want(
		t,
		k.run(Request{Session: "b", Code: "from tools import weekly_report\nprint(await weekly_report(3))"}).compact(),
		"week 3",
	)
	want(t, k.run(Request{Session: "b", Code: "import tools\ndir(tools), tools.weekly_report.__doc__"}).compact(),
		"result: (['weekly_report'], 'Make the weekly report of sales.')")
	k.run(Request{Session: "b", Code: "found = await runtime.search_tool_docs('weekly sales report', limit=1)"})
	want(t, k.run(Request{Session: "b", Code: "found[0].call"}).compact(),
		"result: 'from tools import weekly_report; await weekly_report()  # optional: week: int'")
}

func TestSavedTool(t *testing.T) { testSavedTool(t, saving(t, newKit(t, nil, fake("data")))) }

func TestSavedToolInContainers(t *testing.T) {
	onEachEngine(t, func(t *testing.T, k *kit) { testSavedTool(t, saving(t, k)) })
}

// hostile are sources that must not be kept, and why, as Python.
var hostile = []struct{ source, why string }{
	{`"def f(): pass\ndef g(): pass"`, "one function and nothing else"},
	{`"def f(): pass\nimport os"`, "one function and nothing else"},
	{`"import os\ndef f(): pass"`, "one function and nothing else"},
	{`"if 1:\n  def f(): pass"`, "one function and nothing else"},
	{`"class f: pass"`, "one function and nothing else"},
	{`"f = lambda: 1"`, "one function and nothing else"},
	{`""`, "one function and nothing else"},
	{`"def f(x=open('/workspace/poison', 'w')): pass"`, "the default of 'x' is not a constant"},
	{`"@print\ndef f(): pass"`, "a decorator"},
	{`"def f[T: print()](): pass"`, "type parameters"},
	{`"def __init__(): pass"`, "is no name for a tool"},
	{`"def mcp(): pass"`, "is no name for a tool"},
	{`"def mcp_data(): pass"`, "is no name for a tool"},
	{`"def print(): pass"`, "is no name for a tool"},
	{`"def _f(): pass"`, "is no name for a tool"},
	{`"def ../x(): pass"`, "invalid syntax"},
	{`"def f(): return secret"`, `uses "secret" of its session`},
	{`"def f(): pass\0"`, "control character U+0000"},
	{`"def f(): '\x1b[2J'"`, "control character U+001B"},
	{`"def f(): '\ud800'"`, "no character that can be kept"},
	{`"def f(): # \u202e"`, "reads otherwise than it runs|makes code read otherwise"},
	{`"def f(): return " + "(" * 30000 + ")" * 30000`, "cannot read it|too many nested parentheses"},
	{`"def f(): return " + "[" * 190 + "f(" * 190`, "line 1"},
	{
		`"def f():\n" + "".join(" " * i + "if 1:\n" for i in range(1, 200))`,
		"line 101: too many levels|line 200|indentation",
	},
	{`"def f(): '" + "x" * 70000 + "'"`, "at most 65536 are kept"},
	{`"x" * (20 << 20)`, "at most 65536 are kept"},
	{`5`, "tools/save"},
	{`None`, "one function and nothing else"},
	{`["def f(): pass"]`, "tools/save"},
}

// Code that goes past save_tool, straight to the channel, gets nothing kept that does more than define one function.
func TestHostileSavedTools(t *testing.T) {
	k := saving(t, newKit(t, nil))
	k.text(`
from mcp import _saved
def send(source):
    try:
        return _saved._ask("tools/save", {"source": source, "name": "f", "replace": True})
    except Exception as error:
        return str(error)
`)
	for _, h := range hostile {
		got := k.text("print(send(" + h.source + "))")
		if !matchesAny(got, h.why) || len(got) > 1000 {
			t.Errorf("%.60s: %.1000s", h.source, got)
		}
	}
	// Deep enough for Python's compiler to give up, or not: then it is a function like any other.
	for _, deep := range []string{
		`"-" * 30000 + "1"`, `"+".join("1" * 30000)`, `"x" + ".a" * 30000`, `"not " * 15000 + "x"`,
		`"lambda: " * 8000 + "1"`,
	} {
		k.text(`print(send("def f(x): return " + ` + deep + `))`)
		contains(
			t, k.text("import tools\ntry:\n    tools.f\nexcept (AttributeError, mcp.MCPError): pass\nprint('alive')"),
			"alive",
		)
	}
	for _, name := range []string{"../x", "/etc/passwd", "f\\0", "", "__class__"} {
		k.text(fmt.Sprintf(`print(_saved._ask("tools/saved", {"name": "%s"}))`, name))
	}
	for _, saved := range k.saved.list() {
		if saved.Name != "f" {
			t.Errorf("%q was saved", saved.Name)
		}
	}
}

func matchesAny(got, why string) bool {
	for w := range strings.SplitSeq(why, "|") {
		if strings.Contains(got, w) {
			return true
		}
	}
	return false
}

// A guest that reads a source is not believed more than it must be, and outlives nothing.
func TestCheckingGuestMisbehaves(t *testing.T) {
	for name, c := range map[string]struct{ answer, says string }{
		"dies":           {"", "reading it ended Python"},
		"is no JSON":     {"hello", "reading it ended Python"},
		"fails":          {`"error":{"code":-32601,"message":"no such method"}`, "refused to read it"},
		"wrong shape":    {`"result":[]`, "reading what the guest said of it"},
		"no function":    {`"result":{}`, "one function and nothing else"},
		"a path as name": {`"result":{"functions":[{"name":"../../x","source":"def x(): pass"}]}`, "is no name for a saved tool"},
		"large":          {`"result":{"functions":[{"name":"x","source":"` + strings.Repeat("x", toolbox.MaxSource+1) + `"}]}`, "at most 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := scriptedBridge(t, func(g *bridgetest.Guest) { saveAndTell(g, c.answer) })
			b.saved = newSaved(t.TempDir(), nil)
			b.opts.Config.Tools.Save = true
			out := b.Run(t.Context(), Request{Code: "x", Timeout: 20 * time.Second})
			contains(t, out.compact(), c.says)
			if left := b.saved.list(); len(left) > 0 {
				t.Errorf("kept %v", left)
			}
		})
	}
}

// saveAndTell is a guest: in a run it asks to save something and returns what the host said; as the one that checks it
// gives that answer.
func saveAndTell(g *bridgetest.Guest, answer string) {
	for m := g.Next(); m != nil; m = g.Next() {
		switch m["method"] {
		case "initialize":
			g.Send(`{"jsonrpc":"2.0","id":%v,"result":{"version":1,"python":"3.14.6"}}`, m["id"])
		case "check":
			if !strings.HasPrefix(answer, `"`) {
				g.Send("%s", answer)
				return
			}
			g.Send(`{"jsonrpc":"2.0","id":%v,%s}`, m["id"], answer)
		case "run":
			g.Send(`{"jsonrpc":"2.0","id":9,"method":"tools/save","params":{"source":"def x(): pass"}}`)
			said, _ := json.Marshal(g.Next())
			g.Send(`{"jsonrpc":"2.0","id":%v,"result":{"status":"ok","value":{"repr":%q}}}`, m["id"], said)
		}
	}
}

// atRecord is a handler of a log that does something at each line.
type atRecord struct {
	slog.Handler
	do func()
}

func (h atRecord) Handle(context.Context, slog.Record) error { h.do(); return nil }

// TestSavedAsTheRunEnds holds that what is kept as its run ends is told by that run's result, the log and the audit log.
func TestSavedAsTheRunEnds(t *testing.T) {
	keeping, over := make(chan bool), make(chan bool)
	b, _ := scriptedBridge(t, func(g *bridgetest.Guest) {
		for m := g.Next(); m != nil; m = g.Next() {
			switch m["method"] {
			case "initialize":
				g.Send(`{"jsonrpc":"2.0","id":%v,"result":{"version":1,"python":"3.14.6"}}`, m["id"])
			case "check":
				g.Send(`{"jsonrpc":"2.0","id":%v,"result":{"functions":[{"name":"x","source":"def x(): pass"}]}}`, m["id"])
			case "run":
				g.Send(`{"jsonrpc":"2.0","id":9,"method":"tools/save","params":{"source":"def x(): pass"}}`)
				<-keeping
				g.Send(`{"jsonrpc":"2.0","id":%v,"result":{"status":"ok"}}`, m["id"])
			}
		}
	})
	dir, lines, log := t.TempDir(), t.TempDir(), &bridgetest.Log{}
	b.log = slog.New(slog.NewTextHandler(log, nil))
	b.audit = audit.New(audit.Options{Dir: lines, MaxSize: 1 << 20, Keep: 1})
	// Something must go to make room, which the disk's log is told before the tool is written.
	if err := os.WriteFile(filepath.Join(dir, "old"), make([]byte, 10000), 0o600); err != nil {
		t.Fatal(err)
	}
	slow := atRecord{slog.NewTextHandler(io.Discard, nil), func() {
		keeping <- true
		select {
		case <-over:
		case <-time.After(time.Second):
		}
	}}
	disk := quota.New(filepath.Join(t.TempDir(), "lock"), 10000, slog.New(slow), quota.Folder{Path: dir})
	b.saved = newSaved(t.TempDir(), disk)
	b.opts.Config.Tools.Save = true
	out := b.Run(t.Context(), Request{Code: "x", Timeout: 20 * time.Second})
	close(over)
	b.sessions[out.Session].drop("") // waits for what is done for it
	if len(b.saved.list()) > 0 {
		contains(t, out.compact(), `saved the tool "x" for later sessions`)
	}
	var events []string
	_, err := audit.Read(lines, func(r audit.Record, _ []byte) {
		events = append(events, string(r.Event)+r.Tool)
	})
	want(t, fmt.Sprint(events, err, " ", strings.Count(log.String(), "a tool was saved")), "[run savedx end] <nil> 1")
}

func TestSavingIsSwitchedOff(t *testing.T) {
	k := saving(t, newKit(t, nil))
	k.text("def f(): return 1\nsave_tool(f)")
	k.opts.Config.Tools.Save = false
	contains(t, k.text("def g(): return 1\nsave_tool(g)"), "PolicyError", "tools.save is false")
	want(t, k.run(Request{Session: "b", Code: "from tools import f\nf()"}).compact(), "result: 1")
}

// A tool is not replaced by chance, nor without a word.
func TestReplacingASavedTool(t *testing.T) {
	k := saving(t, newKit(t, nil))
	k.text("def f(): return 1\nsave_tool(f)")
	if out := k.run(Request{Code: "save_tool(f)"}); len(out.Notes) > 0 {
		t.Errorf("saving the same again: %q", out.Notes)
	}
	contains(t, k.text("def f(): return 2\nsave_tool(f)"), `there is another saved tool "f"`)
	contains(t, k.text("save_tool(f, replace=True)"), `replaced the saved tool "f"`)
	want(t, k.run(Request{Session: "b", Code: "import tools\ntools.f()"}).compact(), "result: 2")
	// Not either behind many that are new.
	code := ""
	for n := range maxNotes + 1 {
		code += fmt.Sprintf("def g%d(): return 1\nsave_tool(g%[1]d)\n", n)
	}
	code += "def f(): return 3\nsave_tool(f, replace=True)"
	if out := k.run(Request{Code: code}); len(out.Notes) != maxNotes+2 || out.Notes[0] != `replaced the saved tool "f"` {
		t.Errorf("%s %q", out.Error, out.Notes)
	}
}

// TestToolsDiskIsNotTold holds that what is wrong with the files of saved tools tells code of no path.
func TestToolsDiskIsNotTold(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "taken")
	damaged := filepath.Join(dir, "tools", "tool-f.json")
	if err := errors.Join(
		os.WriteFile(file, nil, 0o600), os.Mkdir(filepath.Dir(damaged), 0o700), os.WriteFile(damaged, []byte("{"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	k := saving(t, newKit(t, nil))
	const save, use = "def f(): return 1\nsave_tool(f)", "from tools import f\nf()"
	told := func(box *saved, code string, want ...string) {
		t.Helper()
		k.saved = box
		got := k.text(code)
		contains(t, got, want...)
		if strings.Contains(got, dir) {
			t.Errorf("code is told of a path: %s", got)
		}
	}
	const unchanged, why = "the saved tools stay as they are", "codemode's log says what is wrong"
	told(newSaved(file, nil), save, unchanged, why)
	told(newSaved(filepath.Join(file, "tools"), nil), save, unchanged, "not a directory", why)
	told(newSaved(file, nil), use)
	told(newSaved(filepath.Dir(damaged), nil), use, `the saved tool "f" cannot be read`, why)
	// Nor where what is kept cannot be counted.
	uncounted := quota.New(filepath.Join(file, "lock"), 1<<20, nil)
	told(newSaved(filepath.Join(dir, "new"), uncounted), save, `saving the tool "f"`, why)
}

// What another process does to the tools is seen at the next import, also by the search.
func TestSavedToolsChangeBelow(t *testing.T) {
	k := saving(t, newKit(t, nil))
	k.text("def f(): return 1\nsave_tool(f)")
	want(t, k.text("from tools import f\nf()"), "result: 1")
	err := k.saved.box.Remove(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, k.text("from tools import f"), "ImportError")
	other := toolbox.Tool{
		Name: "count_sales", Source: "def count_sales(): return 7\n", Doc: "Count the sales of a week.",
	}
	if _, err := k.saved.box.Save(t.Context(), other, false); err != nil {
		t.Fatal(err)
	}
	want(t, k.text("from tools import count_sales\ncount_sales()"), "result: 7")
	if found := k.Search("count the sales", 1); len(found) != 1 ||
		found[0].Call() != "from tools import count_sales; count_sales()" {
		t.Errorf("found %+v", found)
	}
}

// A tool is told of whose servers' tools are no longer what they were.
func TestChangedSchema(t *testing.T) {
	k := saving(t, keeping(t, t.TempDir(), fake("fake")))
	c, _ := k.servers.Find("fake")
	k.lists.Save(c, []json.RawMessage{
		json.RawMessage(`{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"integer"}}}}`),
		json.RawMessage(`{"name":"gone","inputSchema":{"type":"object"}}`),
	}, 0)
	k.text(
		"async def f():\n    await mcp_fake.gone()\n    await mcp_fake.add(a=1, b=2)\n    return await mcp_fake.echo(message='x')\nsave_tool(f)",
	)
	if out := k.run(Request{Code: "from tools import f"}); len(out.Notes) != 1 ||
		!strings.Contains(out.Notes[0], "fake.add, which the server does not have") {
		t.Errorf("before: %q", out.Notes)
	}
	k.text("await mcp_fake.echo(message='x')") // which asks the server what it has now
	out := k.run(Request{Code: "from tools import f"})
	notes := strings.Join(out.Notes, "\n")
	contains(
		t,
		notes,
		`the saved tool "f": fake.echo has changed since it was saved; it is now echo(message: str)`,
		"fake.gone, which the server does not have",
	)
	if len(out.Notes) != 2 {
		t.Errorf("after: %q", out.Notes)
	}
	k.servers.Update(servers.NewSet(nil, nil))
	contains(
		t,
		strings.Join(k.run(Request{Code: "from tools import f"}).Notes, "\n"),
		`it uses the server "fake", which is not there now`,
	)
}

// The server of a tool that is saved is asked what the tool takes, if nobody has asked it before.
func TestSavedBeforeItsServer(t *testing.T) {
	k := saving(t, newKit(t, nil, fake("fake"), fake("other")))
	const code = "async def f():\n    await mcp_other.echo(message='x')\n    return await mcp_fake.echo(message='x')\nsave_tool(f)"
	k.run(Request{Code: code, Servers: []string{"fake"}})
	tool, err := k.saved.load("f")
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range tool.Uses {
		if known := u.Schema != ""; known != (u.Server == "fake") {
			t.Errorf("known: %v: %+v", known, u)
		}
	}
	if len(tool.Uses) != 2 {
		t.Errorf("it uses %+v", tool.Uses)
	}
}

func TestSchemaHash(t *testing.T) {
	hash := func(schema string) string {
		tool := catalog.NewServer("s", "s", "", []json.RawMessage{json.RawMessage(`{"name":"t","inputSchema":` + schema + `}`)}).Tools[0]
		return schemaHash(servers.GuestTool("s", tool))
	}
	base := `{"type":"object","properties":{"title":{"type":"string","description":"a"},"n":{"type":"integer","default":1}}}`
	for same := range strings.SplitSeq(`{"properties":{"n":{"default":1,"type":"integer"},"title":{"description":"other","type":"string"}},"type":"object"}
{"title":"T","type":"object","properties":{"title":{"type":"string"},"n":{"type":"integer","default":1,"$comment":"x"}}}`, "\n") {
		if hash(same) != hash(base) {
			t.Errorf("%s is another", same)
		}
	}
	for other := range strings.SplitSeq(`{"type":"object","properties":{"n":{"type":"integer","default":1}}}
{"type":"object","properties":{"title":{"type":"string"},"n":{"type":"integer","default":2}}}
{"type":"object","properties":{"title":{"type":"string"},"n":{"type":"integer","default":1}},"required":["n"]}
{"type":"object","properties":{"title":{"type":"string"},"n":{"type":"integer","default":1.0}}}`, "\n") {
		if hash(other) == hash(base) {
			t.Errorf("%s is the same", other)
		}
	}
}
