package fakemcp

import (
	"encoding/json"
	"slices"
	"strings"
)

// oddNames are tool names that are legal on the wire and hard in Python.
var oddNames = []string{
	"list_tools", "class", "a-b", "a_b", "x", "X", "日本", "", strings.Repeat("n", 300),
	"import", "1st", "\u202eflip", "x\x1f", "with space", "dots.and/slashes", "__init__", "TOOLS", "raw", "None",
}

// RequestName is the name of a tool that -odd-names lists, too: a request's, so that nobody should call the tool by it.
const RequestName = "resources/read"

// schemaZoo are tool definitions as careless servers send them, in their own order and with their own members.
var schemaZoo = []string{
	`{"name":"no_schema"}`,
	`{"name":"null_schema","inputSchema":null}`,
	`{"name":"true_schema","inputSchema":true}`,
	`{"name":"empty","description":"","inputSchema":{}}`,
	`{"inputSchema":{"type":"object","properties":{"b":{"type":"integer","default":1e2},"a":{"type":["string","null"]}},"required":["b"]},"name":"order","x-unknown":{"z":1,"a":1.0}}`,
	`{"name":"refs","inputSchema":{"type":"object","properties":{"p":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"object","properties":{"self":{"$ref":"#/$defs/P"}}}}}}`,
	`{"name":"relate","description":"Connect notes","inputSchema":{"type":"object","properties":{"relations":{"type":"array","items":{"$ref":"#/$defs/R"}}},"required":["relations"],"$defs":{"R":{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"note":{"type":"string"}},"required":["from","to"]}}}}`,
	`{"name":"unions","inputSchema":{"type":"object","properties":{"v":{"anyOf":[{"type":"string"},{"type":"number"}]},"e":{"enum":["a",1,null,true]},"c":{"const":"x"}}}}`,
	`{"name":"odd_params","inputSchema":{"type":"object","properties":{"class":{"type":"string"},"a-b":{"type":"string"},"":{"type":"string"},"self":{"type":"string"}},"required":["class"]}}`,
	`{"name":"top_any_of","inputSchema":{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}}}`,
	`{"name":"list_type","inputSchema":{"type":"object","properties":{"l":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},"m":{"type":"object","additionalProperties":{"type":"number"}}},"additionalProperties":false}}`,
	`{"name":"bad_types","description":5,"inputSchema":{"type":"objekt","properties":[],"required":"a"}}`,
	`{"name":"output","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"r":{"type":"array","items":{"type":"string"}}}},"annotations":{"readOnlyHint":true}}`,
}

func oddTools(o options) json.RawMessage {
	var tools []string
	if o.oddNames {
		for _, name := range append(OddNames(), RequestName) {
			quoted, _ := json.Marshal(name)
			tools = append(tools, `{"name":`+string(quoted)+`,"inputSchema":{"type":"object"}}`)
		}
	}
	if o.schemaZoo {
		tools = append(tools, schemaZoo...)
	}
	return json.RawMessage(`{"tools":[` + strings.Join(tools, ",") + `]}`)
}

// endless is a page of a list that does not end, except in one of the ways a client may refuse it for.
func endless(list, how, cursor string) json.RawMessage {
	tool, count, next := `{"name":"t","inputSchema":{"type":"object"}}`, 1, cursor+"x"
	switch how {
	case "cycle": // a, b, a, b, …
		next = map[string]string{"": "a", "a": "b", "b": "a"}[cursor]
	case "bytes":
		tool = `{"name":"t","description":"` + strings.Repeat("d", 16<<20) + `"}`
	case "definition":
		tool, next = `{"name":"t","inputSchema":{"enum":[[]`+strings.Repeat(",[]", 400_000)+`]}}`, ""
	case "definitions":
		tool, count, next = `{"name":"t","description":"`+strings.Repeat("d", 1_000_000)+`"}`, 9, ""
	case list:
		count = 5_000
	}
	tools := strings.TrimSuffix(strings.Repeat(tool+",", count), ",")
	return json.RawMessage(`{"` + list + `":[` + tools + `],"nextCursor":"` + next + `"}`)
}

// OddNames are the names of the tools that -odd-names lists.
func OddNames() []string { return slices.Clone(oddNames) }

// SchemaZoo are the definitions that -schema-zoo lists, byte for byte.
func SchemaZoo() []string { return slices.Clone(schemaZoo) }
