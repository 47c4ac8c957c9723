package catalog

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"codemode/internal/require"
)

func TestSignature(t *testing.T) {
	for _, test := range []struct{ title, schema, want string }{
		{
			"required first, each in schema order",
			`{"properties":{"body":{"type":"string"},"repo":{"type":"string"},"title":{"type":"string"}},"required":["title","repo"]}`,
			"t(repo: str, title: str, body: str | None = None) -> Any",
		},
		{
			"defaults",
			`{"properties":{"a":{"type":"integer","default":10},"b":{"type":"boolean","default":false},"c":{"type":"string","default":"x\"y"},
			"d":{"type":"array","default":[null,true]},"e":{"type":"object","default":{"k":1.5}},"f":{"type":"string","default":null}}}`,
			`t(a: int = 10, b: bool = False, c: str = "x\"y", d: list = [None, True], e: dict = {"k": 1.5}, f: str | None = None) -> Any`,
		},
		{
			"a long default", `{"properties":{"a":{"type":"string","default":"` + strings.Repeat("x", 100) + `"}}}`,
			"t(a: str = ...) -> Any",
		},
		{
			"names Python does not allow",
			`{"properties":{"from":{"type":"string"},"per-page":{"type":"integer"},"@type":{}}}`,
			"t(from_: str | None = None, per_page: int | None = None, _type: Any = None) -> Any",
		},
		{"no parameters", `{"type":"object","properties":{}}`, "t() -> Any"},
		{"none that are named", `{"type":"object"}`, "t(**kwargs) -> Any"},
		{"none allowed", `{"type":"object","additionalProperties":false}`, "t() -> Any"},
		{
			"others allowed in so many words", `{"properties":{"kwargs":{"type":"string"}},"additionalProperties":{"type":"string"}}`,
			"t(kwargs: str | None = None, **kwargs_) -> Any",
		},
		{
			"the whole by reference", `{"$ref":"#/definitions/Args","definitions":{"Args":{"properties":{"q":{"type":"string"}},"required":["q"]}}}`,
			"t(q: str) -> Any",
		},
		{
			"allOf and oneOf", `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]}],"oneOf":[{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`,
			"t(a: str, b: int | None = None) -> Any",
		},
		{"a schema that is null", `null`, "t(**kwargs) -> Any"},
		{"a list", `[1]`, "t(**kwargs) -> Any"},
		{"a string", `"{\"properties\":{\"a\":{}}}"`, "t(**kwargs) -> Any"},
		{"properties that are a list", `{"properties":["a"]}`, "t(**kwargs) -> Any"},
		{"required that is no list, or of no strings", `{"properties":{"a":true},"required":"a"}`, "t(a: Any = None) -> Any"},
		{"required but not described", `{"properties":{"a":false},"required":["a","b",3]}`, "t(a: Any) -> Any"},
		{"one key twice", `{"properties":{"a":{"type":"string"},"a":{"type":"integer"}}}`, "t(a: int | None = None) -> Any"},
		{
			"properties without end", `{"$ref":"#","anyOf":[{"$ref":"#"},{"$ref":"#"}],"properties":{"a":{"$ref":"#/properties/a"}}}`,
			"t(a: Any = None) -> Any",
		},
	} {
		t.Run(test.title, func(t *testing.T) {
			tools := NewServer(
				"s",
				"s",
				"",
				[]json.RawMessage{json.RawMessage(`{"name":"t","inputSchema":` + test.schema + `}`)},
			).Tools
			if len(tools) != 1 {
				t.Fatalf("%d tools, want 1", len(tools))
			}
			if tools[0].Signature != test.want {
				t.Errorf("got  %s\nwant %s", tools[0].Signature, test.want)
			}
		})
	}
}

func TestReturns(t *testing.T) {
	for _, test := range []struct {
		schema, want string
		wrapped      bool
	}{
		{`{"type":"object","properties":{"id":{"type":"integer"}}}`, "dict", false},
		{`{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"]}`, "int", true},
		{`{"type":"object","properties":{"result":{"type":"array","items":{"type":"string"}}},"required":["result"],"title":"listOutput"}`, "list[str]", true},
		{`{"type":"object","properties":{"result":{"type":"object"}},"required":["result"]}`, "dict", false},
		{`{"type":"object","properties":{"result":{"type":"object","nullable":true}},"required":["result"]}`, "dict | None", true},
		{`{"type":"object","properties":{"result":{"type":"object"}},"x-fastmcp-wrap-result":true}`, "dict", true},
		{`{"type":"object","properties":{"result":{"type":"string"}}}`, "dict", false},
		{`{"type":"object","properties":{"result":{"type":"string"},"more":{}},"required":["result"]}`, "dict", false},
		{`{"type":"object","additionalProperties":{"type":"number"}}`, "dict[str, float]", false},
		{`[]`, "Any", false},
	} {
		tool := NewServer("s", "s", "", []json.RawMessage{json.RawMessage(`{"name":"t","outputSchema":` + test.schema + `}`)}).Tools[0]
		if tool.Returns != test.want || tool.Wrapped != test.wrapped {
			t.Errorf(
				"%s: returns %q, wrapped %v; want %q, %v", test.schema, tool.Returns, tool.Wrapped, test.want,
				test.wrapped,
			)
		}
	}
}

func TestCarelessTools(t *testing.T) {
	s := NewServer("s", "s", "", []json.RawMessage{
		json.RawMessage(`{"name":""}`),
		json.RawMessage(`{"name":"a","description":7,"title":"A title"}`),
		json.RawMessage(`{"name":"a","description":"again"}`),
		json.RawMessage(`{"name":3}`),
		json.RawMessage(`{}`),
		json.RawMessage(`"{\"name\":\"x\"}"`),
		json.RawMessage(`{"name":"b"`),
		nil,
	})
	var got []string
	for _, tool := range s.Tools {
		got = append(got, tool.Alias+":"+tool.Description)
	}
	if want := "_: a:A title"; strings.Join(got, " ") != want {
		t.Errorf("tools %q, want %q", got, want)
	}
	b, err := json.Marshal(s)
	if err != nil || !strings.Contains(string(b), `"params":[]`) || !strings.Contains(string(b), `"inputSchema":{}`) {
		t.Errorf("as JSON: %s, %v", b, err)
	}
}

// TestPythonReadsSignatures has Python parse the signatures of real servers' tools.
func TestPythonReadsSignatures(t *testing.T) {
	catalog := readCorpus(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Lacking(t, "python", "no python3")
	}
	var source strings.Builder
	count := 0
	for _, s := range catalog.Servers() {
		for _, tool := range s.Tools {
			for i := range tool.Params { // members of objects are for people
				for p := &tool.Params[i]; strings.Contains(p.Type, "{"); {
					p.Type = regexp.MustCompile(`\{[^{}]*\}`).ReplaceAllString(p.Type, "dict")
				}
			}
			fmt.Fprintf(&source, "def %s: ...\n", signature(&tool))
			count++
		}
	}
	cmd := exec.Command(python, "-c", "import ast, sys; print(len(ast.parse(sys.stdin.read()).body))")
	cmd.Stdin = strings.NewReader(source.String())
	out, err := cmd.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != fmt.Sprint(count) {
		t.Errorf("Python says %s (%v), want %d functions", got, err, count)
	}
}

// TestHints holds that what a server does not say of a tool is taken for the worst, as MCP has it.
func TestHints(t *testing.T) {
	for annotations, want := range map[string][3]bool{ // read-only, destructive, open world
		`null`:                  {false, true, true},
		`{}`:                    {false, true, true},
		`{"readOnlyHint":true}`: {true, false, true},
		`{"readOnlyHint":true,"destructiveHint":true}`:    {true, false, true},
		`{"readOnlyHint":"true"}`:                         {false, true, true},
		`{"destructiveHint":false,"openWorldHint":false}`: {false, false, false},
	} {
		tool := NewServer("s", "s", "", []json.RawMessage{json.RawMessage(`{"name":"t","annotations":` + annotations + `}`)}).Tools[0]
		if got := [3]bool{tool.ReadOnly, tool.Destructive, tool.OpenWorld}; got != want {
			t.Errorf("%s: %v, want %v", annotations, got, want)
		}
	}
}
