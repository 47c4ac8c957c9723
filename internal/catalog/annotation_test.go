package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestAnnotation(t *testing.T) {
	for _, test := range []struct{ schema, want string }{
		{`{}`, "Any"},
		{`true`, "Any"},
		{`false`, "Any"},
		{`null`, "Any"},
		{`7`, "Any"},
		{`{"type":"string"}`, "str"},
		{`{"type":"number"}`, "float"},
		{`{"type":"nonsense"}`, "Any"},
		{`{"type":["string","null","integer"]}`, "str | int | None"},
		{`{"type":"string","nullable":true}`, "str | None"},
		{`{"type":[]}`, "Any"},
		{`{"type":"array","items":{"type":"string"}}`, "list[str]"},
		{`{"type":"array"}`, "list"},
		{`{"type":"array","items":[{"type":"string"}]}`, "list[str]"},
		{`{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]}`, "list[str | int]"},
		{`{"prefixItems":[{"type":"string"}],"items":{"type":"null"}}`, "list[str | None]"},
		{`{"prefixItems":[{"type":"string"},{}],"items":false}`, "list"},
		{`{"items":{"type":["integer","null"]}}`, "list[int | None]"},
		{`{"type":"object"}`, "dict"},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, "dict[str, int]"},
		{`{"type":"object","additionalProperties":true}`, "dict"},
		{`{"properties":{}}`, "dict"},
		{`{"enum":["open","closed"]}`, `Literal["open", "closed"]`},
		{`{"enum":["a",1,true,null,"a"]}`, `Literal["a", 1, True] | None`},
		{`{"enum":[1.5,2,[],{}]}`, "Literal[2] | float | list | dict"},
		{`{"enum":["\"\\\n\u2028é"]}`, `Literal["\"\\\n\u2028é"]`},
		{`{"enum":["` + strings.Repeat("x", 300) + `","y"]}`, "str"},
		{`{"enum":[]}`, "Any"},
		{`{"const":"x"}`, `Literal["x"]`},
		{"{\"const\":\"x\u009b2J\u202e\U000e0041\u200b\"}", `Literal["x\u009b2J\u202e\U000e0041\u200b"]`},
		{`{"const":null}`, "None"},
		{`{"anyOf":[{"type":"null"},{"type":"string"}]}`, "str | None"},
		{`{"oneOf":[{"type":"string"},{"type":"string"}]}`, "str"},
		{`{"anyOf":[{"type":"string"},{}]}`, "Any"},
		{`{"anyOf":[]}`, "Any"},
		{`{"allOf":[{"description":"x"},{"type":"integer"}]}`, "int"},
		{`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`, "dict"},
		{`{"$ref":"#/$defs/Color"}`, `Literal["red"]`},
		{`{"$ref":"#/$defs/a~1b%20c"}`, "int"},
		{`{"$ref":"#/$defs/Tree"}`, "dict"},
		{`{"$ref":"#/$defs/Json"}`, "str | list | None"},
		{`{"$ref":"#/$defs/Loop"}`, "Any"},
		{`{"$ref":"#/$defs/missing"}`, "Any"},
		{`{"$ref":"https://example.com/schema"}`, "Any"},
		{`{"$ref":"#/$defs/Color","nullable":true}`, `Literal["red"] | None`},
	} {
		root := gjson.Parse(
			`{"$defs":{"Color":{"enum":["red"]},"a/b c":{"type":"integer"},"Loop":{"$ref":"#/$defs/Loop"},
			"Tree":{"type":"object","properties":{"kids":{"items":{"$ref":"#/$defs/Tree"}}}},
			"Json":{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/Json"}},{"type":"null"}]}}}`,
		)
		if got := annotate(root, gjson.Parse(test.schema)); got != test.want {
			t.Errorf("%s: %s, want %s", test.schema, got, test.want)
		}
	}
}

func TestAnnotationStaysReadable(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","additionalProperties":`, 50) +
		`{"type":"string"}` + strings.Repeat("}", 50)
	if got := annotate(gjson.Result{}, gjson.Parse(deep)); len(got) > maxAnnotation ||
		!strings.HasPrefix(got, "dict[str, dict[") {
		t.Errorf("deep schema: %s", got)
	}
	var wide []string
	for i := range 100 {
		wide = append(wide, `{"enum":["`+strings.Repeat("x", 20)+string(rune('A'+i%26))+`"]}`)
	}
	schema := `{"type":"array","items":{"anyOf":[` + strings.Join(wide, ",") + `]}}`
	if got := annotate(gjson.Result{}, gjson.Parse(schema)); got != "list" {
		t.Errorf("wide schema: %s", got)
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":["string","null"]},"b":{"enum":["x\"",1,null]}},"required":["a"]}`)
	f.Add(`{"$ref":"#/$defs/A","$defs":{"A":{"anyOf":[{"$ref":"#/$defs/A"},{"$ref":"#"}],"properties":{"a-b":true}}}}`)
	f.Add(
		`{"properties":{"x":{"type":"array","items":{"additionalProperties":{"nullable":true,"type":"null"}}}},"additionalProperties":true}`,
	)
	f.Add(`[{"properties":"{\"a\":1}"}]`)
	f.Add(`{"properties":{"0":{"anyOf":[{"$ref":"#"}]},"a":{"properties":{"b-c":{"type":"string"}},"required":["b-c"]}}}`)
	f.Add(`{"properties":{"a":{"default":{"k":[1e400,-0,"\ud800"]},"const":1.5}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		if !gjson.Valid(schema) || len(schema) > 10_000 {
			return
		}
		s := NewServer(
			"s",
			"s",
			"",
			[]json.RawMessage{
				json.RawMessage(`{"name":"t","inputSchema":` + schema + `,"outputSchema":` + schema + `}`),
			},
		)
		for _, p := range s.Tools[0].Params {
			if !legalName.MatchString(p.Name) || keywords[p.Name] {
				t.Errorf("parameter name %q", p.Name)
			}
			if rest, ok := parseAnnotation(p.Type); !ok || rest != "" {
				t.Errorf("annotation %q of %q", p.Type, p.Key)
			}
		}
		if stub := Stub(s); len(stub) > 40*len(schema)+20_000 {
			t.Errorf("a stub of %d bytes of a schema of %d", len(stub), len(schema))
		}
		if shape, _ := Seen(nil, []byte(schema)); shape.size() > 2*shapeNodes {
			t.Errorf("a shape of %d parts", shape.size())
		}
		if rest, ok := parseAnnotation(s.Tools[0].Returns); !ok || rest != "" {
			t.Errorf("annotation of the result: %q", s.Tools[0].Returns)
		}
	})
}

// parseAnnotation reads an annotation off the front of a text: a union of names, some with arguments.
func parseAnnotation(text string) (rest string, ok bool) {
	for {
		text, ok = parseAlternative(text)
		if !ok || !strings.HasPrefix(text, " | ") {
			return text, ok
		}
		text = text[len(" | "):]
	}
}

func parseAlternative(text string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(text, "Literal["); ok {
		return parseList(rest, "]", parseLiteral)
	}
	if rest, ok = strings.CutPrefix(text, "dict[str, "); ok {
		return parseList(rest, "]", parseAnnotation)
	}
	if rest, ok = strings.CutPrefix(text, "list["); ok {
		return parseList(rest, "]", parseAnnotation)
	}
	if rest, ok = strings.CutPrefix(text, "{"); ok {
		return parseList(rest, "}", parseMember)
	}
	for _, name := range []string{"Any", "None", "str", "int", "float", "bool", "list", "dict"} {
		if rest, ok = strings.CutPrefix(text, name); ok {
			return rest, true
		}
	}
	return text, false
}

// parseMember reads a member of an object, such as `a-b?: str`.
func parseMember(text string) (rest string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		rest, ok = parseLiteral(text)
	} else if name := plainMember().FindString(text[:max(0, strings.IndexAny(text, "?:"))]); name != "" {
		rest, ok = text[len(name):], true
	}
	if !ok {
		return text, false
	}
	if rest, ok = strings.CutPrefix(strings.TrimPrefix(rest, "?"), ": "); !ok {
		return rest, false
	}
	return parseAnnotation(rest)
}

// parseList reads what is between brackets, the closing one included.
func parseList(text, end string, item func(string) (string, bool)) (rest string, ok bool) {
	for {
		if text, ok = item(text); !ok {
			return text, false
		}
		if rest, ok = strings.CutPrefix(text, end); ok {
			return rest, true
		}
		if text, ok = strings.CutPrefix(text, ", "); !ok {
			return text, false
		}
	}
}

func parseLiteral(text string) (rest string, ok bool) {
	for _, name := range []string{"True", "False"} {
		if rest, ok = strings.CutPrefix(text, name); ok {
			return rest, true
		}
	}
	if !strings.HasPrefix(text, `"`) {
		rest = strings.TrimLeft(text, "-0123456789")
		return rest, rest != text
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[i+1:], true
		case '\n':
			return text, false
		}
	}
	return text, false
}

// TestReferencesMultiply: a document of some kilobytes is not read for a second, however many parameters refer to the
// same few objects, which refer to others.
func TestReferencesMultiply(t *testing.T) {
	schema, keys := multiplying(60)
	params, _ := parameters(gjson.Parse(schema))
	if len(params) != len(keys) || params[0].Type == "Any" {
		t.Fatalf("%d parameters, the first %+v", len(params), params[0])
	}
	if last := params[len(params)-1]; last.Type != "Any" {
		t.Errorf("the last parameter is %+v: all have been followed", last)
	}
}

// multiplying is a schema with so many parameters that each refer to a thousand million objects.
func multiplying(count int) (schema string, keys []string) {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	for n := range count {
		keys = append(keys, fmt.Sprintf("p%02d", n))
		fmt.Fprintf(&b, `%.*s%q:{"$ref":"#/$defs/a9"}`, min(n, 1), ",", keys[n])
	}
	b.WriteString(`},"$defs":{"a0":{"type":"string"}`)
	for n := 1; n < 10; n++ {
		fmt.Fprintf(&b, `,"a%d":{"type":"object","properties":{`, n)
		for m := range 10 {
			fmt.Fprintf(&b, `%.*s"m%d":{"$ref":"#/$defs/a%d"}`, min(m, 1), ",", m, n-1)
		}
		b.WriteString("}}")
	}
	b.WriteString("}}")
	return b.String(), keys
}

func BenchmarkReferencesMultiply(b *testing.B) {
	schema, _ := multiplying(60)
	for b.Loop() {
		parameters(gjson.Parse(schema))
	}
}
