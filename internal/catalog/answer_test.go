package catalog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"codemode/internal/catalog"
	"codemode/internal/catalog/catalogtest"
)

func noNote(catalog.Match) string { return "" }

// TestAnswerQuality holds that what a model reads of a search shows a right tool for people's questions, and how long
// it is at most.
func TestAnswerQuality(t *testing.T) {
	servers := realServers(t)
	tools := catalog.New(servers)
	asked, shown, longest, all := map[string]int{}, map[string]int{}, 0, []int{}
	for _, q := range realQuestions(t) {
		a := tools.Answer(q.Query, 0, noNote)
		asked[q.Kind]++
		if catalogtest.Shows(servers, a.Text, q) {
			shown[q.Kind]++
		}
		longest = max(longest, catalog.Tokens(a.Text))
		all = append(all, catalog.Tokens(a.Text))
	}
	for kind, least := range map[string]float64{"task": 80, "step": 85, "own": 95, "unseen": 95} {
		percent := 100 * float64(shown[kind]) / float64(max(1, asked[kind]))
		t.Logf("%s: a right tool shown for %d of %d questions (%.1f %%)", kind, shown[kind], asked[kind], percent)
		if percent < least {
			t.Errorf("%s: a right tool is shown for %.1f %% of questions, want at least %.0f %%", kind, percent, least)
		}
	}
	slices.Sort(all)
	t.Logf("tokens, as estimated: %d in the median, %d at most", all[len(all)/2], longest)
	if longest > 350 {
		t.Errorf("an answer has about %d tokens, want at most 350", longest)
	}
}

// TestAnswer holds the form of an answer.
func TestAnswer(t *testing.T) {
	tool := func(name, about, schema string) json.RawMessage {
		return json.RawMessage(`{"name":"` + name + `","description":"` + about + `","inputSchema":` + schema + `}`)
	}
	notes := []json.RawMessage{
		tool(
			"create_notes",
			"Create notes. They stay.",
			`{"type":"object","properties":{"notes":{"type":"array","items":{"type":"object",`+
				`"properties":{"from":{"type":"string"},"text":{"type":"string"}},"required":["from"]}},"dry":{}},"required":["notes"]}`,
		),
		tool("delete_notes", "Delete notes", `{"type":"object"}`),
		tool("read_notes", "Read notes", `{"type":"object"}`),
		tool("list-notes", "List notes", `{"type":"object"}`),
	}
	c := catalog.New([]catalog.Server{
		catalog.NewServer("memory", "memory", "", notes),
		catalog.NewServer("memory@claude-code", "memory_claude_code", "", notes),
		catalog.NewServer(
			"paper",
			"paper",
			"",
			[]json.RawMessage{tool("note_paper", "Buy paper for notes", `{"type":"object"}`)},
		),
	})
	denied := func(m catalog.Match) string {
		if m.Tool.Name == "delete_notes" {
			return "policy denies it"
		}
		return ""
	}
	a := c.Answer("create notes", 0, denied)
	want := `await mcp_memory.create_notes(notes=...)  # notes: list[{from: str, text?: str}]; optional: dry
    Create notes (the same: memory@claude-code)
await mcp_memory.delete_notes()
    Delete notes (the same: memory@claude-code) (policy denies it)
await mcp_memory.read_notes()
    Read notes (the same: memory@claude-code)
more: mcp_memory: list_notes; mcp_paper: note_paper`
	if a.Text != want {
		t.Errorf("got\n%s\nwant\n%s", a.Text, want)
	}
	if len(a.Matches) != 5 {
		t.Errorf("code gets %d matches, want 5", len(a.Matches))
	}
	if a = c.Answer("create notes", 1, denied); len(a.Matches) != 1 || strings.Count(a.Text, "await ") != 1 {
		t.Errorf("with a limit of one: %d matches\n%s", len(a.Matches), a.Text)
	}
	if got := c.Answer(
		"zzzz", 0, denied,
	).Text; got != "nothing found for 'zzzz': try the words of a tool's description, or "+
		"`await runtime.query_tool_docs('<server>')`; servers: memory, memory_claude_code, paper" {
		t.Errorf("of nothing: %s", got)
	}
}
