package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/servers"
)

// raw asks for a call as code can that minds none of codemode's own objects, and prints why it was refused.
const raw = `
import json
from mcp._state import context
async def raw(tool, arguments=None):
    try:
        return await context.catalog.channel.request("tools/call", {"server": "notes", "tool": tool, "arguments": arguments or {}})
    except Exception as error:
        print(error, (error.data or {}).get("hint", ""))
`

// TestOnlyListedNames is about a server that minds neither case nor white space, and a policy that goes by names: no
// name but one that the server lists is called, asked about or taken for another.
func TestOnlyListedNames(t *testing.T) {
	called := filepath.Join(t.TempDir(), "called")
	for _, rule := range []string{"deny", "confirm"} {
		k := newKit(t, func(o *Options) {
			*map[string]*[]string{"deny": &o.Config.Policy.Deny, "confirm": &o.Config.Policy.Confirm}[rule] = []string{
				"notes.delete_note",
			}
		}, fake("notes", "-notes", called, "-strip-names"))
		names := []string{
			"\x1fdelete_note", "delete_note\x1c", "\ufeffdelete_note", " delete_note\n", "DELETE_NOTE",
			"delete_note\x00", "delete\u200b_note", "delete_note; it is fine", "",
		}
		list, err := json.Marshal(names)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		out := k.run(Request{
			Code: raw + fmt.Sprintf("for name in json.loads(%q):\n    await raw(name, {'message': 'x'})", list),
			Ask:  func(context.Context, Question) (Answer, error) { asked++; return Once, nil },
		})
		text := out.compact()
		if n := strings.Count(
			text,
			`server "notes" has no tool "`,
		); n != len(names) || out.Status != StatusSuccess ||
			asked != 0 {
			t.Errorf("%s: %d refusals, asked %d times: %s", rule, n, asked, text)
		}
		contains(t, text, `has no tool "\x1fdelete_note" ; did you mean "delete_note"?`)
		if data, err := os.ReadFile(called); !os.IsNotExist(err) {
			t.Errorf("%s: the server has done %q", rule, data)
		}
	}
}

// TestListIsTheServers is about a tool that its server has added without a word, and one that it has taken away since
// its list was kept.
func TestListIsTheServers(t *testing.T) {
	dir := t.TempDir()
	k := keeping(t, dir, fake("notes", "-strip-names"))
	c, _ := k.servers.Find("notes")
	k.lists.Save(c, []json.RawMessage{
		json.RawMessage(`{"name":" add","inputSchema":{"type":"object"}}`),
		json.RawMessage(`{"name":"echo","inputSchema":{"type":"object"}}`),
	}, 0)
	want(
		t,
		k.text(raw+"await raw(' add', {'a': 1, 'b': 2})"),
		`server "notes" has no tool " add" ; did you mean "add"?`,
	)
	contains(t, k.text("(await raw('add', {'a': 1, 'b': 2}))['content'][0]['text']"), "result: '3'")
	contains(t, k.text("await raw('grow')\n(await raw('grown_1'))['content'][0]['text']"), "result: 'grown_1'")
}

// TestInventedNames is about code that makes up names of tools: their server is not asked each time.
func TestInventedNames(t *testing.T) {
	sent, server := filepath.Join(t.TempDir(), "sent"), fake("notes")
	server.Command, server.Args = "/bin/sh", []string{"-c", `tee "$1" | "$2"`, "sh", sent, server.Command}
	k := newKit(t, nil, server)
	k.text(raw + "import asyncio\nawait asyncio.gather(*(raw(f'invented_{n}') for n in range(300)))")
	k.text(raw + "for n in range(300): await raw(f'invented_{n}')")
	text, err := os.ReadFile(sent)
	if err != nil {
		t.Fatal(err)
	}
	if lists := strings.Count(string(text), `"method":"tools/list"`); lists < 2 || lists > 2*servers.AskedInVain+1 {
		t.Errorf("the server was asked for its tools %d times", lists)
	}
}
