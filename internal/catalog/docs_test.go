package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCall(t *testing.T) {
	for schema, want := range map[string]string{
		`{}`: "await mcp_git.t()",
		`{"properties":{"repo":{"type":"string"},"title":{"type":"string"}},"required":["title","repo"]}`: "await mcp_git.t(repo=..., title=...)",
		`{"properties":{"body":{},"from":{}},"required":["from"]}`:                                        "await mcp_git.t(from_=...)  # optional: body",
		`{"properties":{"a":{},"b":{}}}`:                                                                  "await mcp_git.t()  # optional: a, b",
	} {
		s := NewServer(
			"git",
			"git",
			"",
			[]json.RawMessage{json.RawMessage(`{"name":"t","inputSchema":` + schema + `}`)},
		)
		m := Match{Server: "git", ServerAlias: "git", Tool: s.Tools[0]}
		if got := m.Call(); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}

func TestDocumentationIsBounded(t *testing.T) {
	var properties []string
	for i := range 100 {
		properties = append(
			properties,
			fmt.Sprintf(`"parameter_%d":{"description":"%s"}`, i, strings.Repeat("много ", 50)),
		)
	}
	s := NewServer(
		"s",
		"s",
		"",
		[]json.RawMessage{json.RawMessage(`{"name":"t","description":"` + strings.Repeat("слово ", 2000) +
			`","inputSchema":{"properties":{` + strings.Join(properties, ",") + `}}}`)},
	)
	tool := s.Tools[0]
	for what, text := range map[string]struct {
		text string
		most int
	}{
		"summary": {tool.Summary(), maxSummary}, "call": {Call("s", tool), maxCall + len("99 more")},
		"docstring": {tool.Docstring(), maxDocstring},
	} {
		if len(text.text) > text.most || !utf8.ValidString(text.text) || len(text.text) < text.most/2 {
			t.Errorf("%s of %d bytes, want nearly %d: %s", what, len(text.text), text.most, text.text)
		}
	}
	if doc := tool.Docstring(); !strings.Contains(doc, "more)") || !strings.Contains(doc, "parameter_3") {
		t.Errorf("the docstring does not say that there are more arguments: %s", doc)
	}
}

// TestCutWide holds that a text of wide characters is cut as late as any other.
func TestCutWide(t *testing.T) {
	if got := cut(strings.Repeat("获取新闻", 20), 50); got != strings.Repeat("获取新闻", 3)+"获取新…" {
		t.Errorf("%q", got)
	}
}
