package commands

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTableFits(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, rows := range [][][]cell{
		{cells("name", "stdio", "claude-code (project)", "needs-approval", "it came with the project, and nobody has approved it")},
		{cells(long, "stdio", long, "ready", long)},
		{cells("2026-11-21 18:42:00", "0123456789abcdef", "memory.delete_entities", "denied by the rule", "confirm:*.delete_*")},
	} {
		for _, width := range []int{40, 80, 120} {
			var out bytes.Buffer
			if err := (sheet{out: &out, width: width}).table([]string{"A", "B", "C", "D", "E"}, rows); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("a line of %d characters where %d fit: %s", n, width, line)
				}
			}
		}
	}
}

// TestTableCutsNothing is about what a terminal is too narrow for.
func TestTableCutsNothing(t *testing.T) {
	name := "a-server-whose-name-is-longer-than-most-are@claude-desktop"
	reason := `it refers to "${CONTEXT7_API_KEY}", which is not set in the environment that codemode was started with`
	for _, width := range []int{60, 80, 100} {
		var out bytes.Buffer
		rows := [][]cell{
			cells(name, "stdio", "claude-desktop (user) +2", "needs-input", "-", reason),
			cells("memory", "stdio", "mcps (user)", "ready", "9", ""),
		}
		if err := (sheet{out: &out, width: width}).table(
			[]string{"NAME", "TRANSPORT", "SOURCE", "STATUS", "TOOLS", ""}, rows,
		); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if !strings.Contains(text, name) || strings.Contains(text, "…") {
			t.Errorf("at %d columns:\n%s", width, text)
		}
		if words := strings.Join(strings.Fields(text), " "); !strings.Contains(words, reason) {
			t.Errorf("at %d columns:\n%s", width, text)
		}
	}
}

func TestWrap(t *testing.T) {
	p := sheet{width: 30}
	for text, want := range map[string]string{
		"":                                      "",
		"short":                                 "short",
		"twenty-five characters are more":       "twenty-five characters\n    are more",
		"a_word_that_is_longer_than_the_room x": "a_word_that_is_longer_than_the_room\n    x",
	} {
		if got := p.wrap(4, text, ""); got != want {
			t.Errorf("%q is wrapped as %q, want %q", text, got, want)
		}
	}
}
