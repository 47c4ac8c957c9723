package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Server is one MCP server with its tools, ready to be documented.
type Server struct {
	Name        string `json:"name"`  // as configured
	Alias       string `json:"alias"` // legal Python name: mcp_<alias>
	Description string `json:"description,omitempty"`
	Tools       []Tool `json:"tools,omitempty"`
}

// Tool is one tool, with what is needed to document it and to bind its arguments.
type Tool struct {
	Name         string          `json:"name"`
	Alias        string          `json:"alias"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Params       []Param         `json:"params"`            // in schema order, required ones first
	Extra        bool            `json:"extra,omitempty"`   // the schema allows properties it does not name
	Returns      string          `json:"returns"`           // Python annotation of the result, "Any" when unknown
	Wrapped      bool            `json:"wrapped,omitempty"` // structuredContent is {"result": X} around a primitive
	// What results have looked like, where the server does not say.
	Observed *Shape `json:"observed,omitempty"`
	// "create_issue(repo: str, title: str, body: str | None = None) -> dict".
	Signature string `json:"signature"`
	Caller    string `json:"-"` // what a call begins with, of a tool that is no server's
	// By its annotations, or where there are none by MCP's defaults.
	ReadOnly    bool `json:"-"`
	Destructive bool `json:"-"`
	OpenWorld   bool `json:"-"`
}

// Param is one parameter of a tool.
type Param struct {
	Name string `json:"name"` // legal Python name
	Key  string `json:"key"`  // property name in the schema
	// Python annotation; one that accepts null is "Any", "None" or ends with "| None".
	Type        string          `json:"type"`
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default,omitempty"`
	Description string          `json:"description,omitempty"`
}

// NewServer documents a server from the entries of its tools/list answer, as it sent them. An entry without a
// name that can be sent back is left out, and so is a second one of the same name: neither can be called.
func NewServer(name, alias, description string, tools []json.RawMessage) Server {
	s := Server{Name: name, Alias: alias, Description: description}
	names := make([]string, 0, len(tools))
	seen := map[string]bool{}
	for _, raw := range tools {
		entry := gjson.ParseBytes(raw)
		toolName := entry.Get("name")
		if !gjson.ValidBytes(raw) || toolName.Type != gjson.String || !plainName(toolName.Str) || seen[toolName.Str] {
			continue
		}
		seen[toolName.Str] = true
		names = append(names, toolName.Str)
		s.Tools = append(s.Tools, newTool(entry))
	}
	aliases := toolAliases(names)
	for i := range s.Tools {
		t := &s.Tools[i]
		t.Alias = aliases[t.Name]
		t.Signature = signature(t)
	}
	return s
}

// plainName reports whether a name is one text for everybody: half a surrogate was read as U+FFFD, and some end a text
// at a zero.
func plainName(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsAny(name, "\ufffd\x00")
}

// WithObserved returns the server with what its tools' results have looked like, by the tools' real names. A tool
// whose server says what it returns stays as it is.
func (s Server) WithObserved(shapes map[string]*Shape) Server {
	s.Tools = slices.Clone(s.Tools)
	for i := range s.Tools {
		t := &s.Tools[i]
		if shape := shapes[t.Name]; shape != nil && t.OutputSchema == nil {
			schema := shape.schema()
			t.Observed, t.Returns = shape, annotate(schema, schema)
			t.Signature = signature(t)
		}
	}
	return s
}

// newTool reads one entry of tools/list, all but what depends on the alias.
func newTool(entry gjson.Result) Tool {
	t := Tool{
		Name:        entry.Get("name").Str,
		Description: text(entry, "description", "title", "annotations.title"),
		InputSchema: json.RawMessage("{}"),
		Params:      []Param{},
		Returns:     "Any",
	}
	t.ReadOnly = entry.Get("annotations.readOnlyHint").Type == gjson.True
	t.Destructive = !t.ReadOnly && entry.Get("annotations.destructiveHint").Type != gjson.False
	t.OpenWorld = entry.Get("annotations.openWorldHint").Type != gjson.False
	if in := entry.Get("inputSchema"); in.Exists() && in.Type != gjson.Null {
		t.InputSchema = json.RawMessage(in.Raw)
	}
	t.Params, t.Extra = parameters(gjson.ParseBytes(t.InputSchema))
	if out := entry.Get("outputSchema"); out.IsObject() {
		t.OutputSchema = json.RawMessage(out.Raw)
		t.Returns, t.Wrapped = returns(out)
	}
	return t
}

// text returns the first of the named members that is a string with something in it.
func text(entry gjson.Result, paths ...string) string {
	for _, path := range paths {
		if v := entry.Get(path); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return ""
}

// returns reads an output schema: the annotation of the value a call returns, and whether the server wraps
// it. FastMCP and the official Python SDK wrap what is no object as {"result": X}; only the former marks it,
// with "x-fastmcp-wrap-result": true (seen in schemas both produce, 2026-11).
func returns(schema gjson.Result) (annotation string, wrapped bool) {
	properties := member(schema, "properties")
	result := member(properties, "result")
	if !result.Exists() {
		return annotate(schema, schema), false
	}
	inner := annotate(schema, result)
	count := 0
	properties.ForEach(func(_, _ gjson.Result) bool { count++; return count < 2 })
	required := requiredKeys(schema)
	object := inner == "dict" || strings.HasPrefix(inner, "dict[") && !acceptsNull(inner)
	primitive := count == 1 && required["result"] && !object
	if marked := member(schema, "x-fastmcp-wrap-result"); marked.Type == gjson.True || primitive {
		return inner, true
	}
	return annotate(schema, schema), false
}
