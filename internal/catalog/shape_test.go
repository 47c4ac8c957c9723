package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestSeen(t *testing.T) {
	for _, test := range []struct {
		title  string
		values []string
		want   string
	}{
		{"a value", []string{`7`}, `{"type":["integer"]}`},
		{"values of two kinds", []string{`7`, `null`, `1.5`, `"x"`}, `{"type":["null","number","string"]}`},
		{"an object", []string{`{"id":1,"name":"Ann"}`}, `{"type":["object"],"properties":{"id":{"type":["integer"]},"name":{"type":["string"]}},"required":["id","name"]}`},
		{"a member that may lack", []string{`{"id":1,"more":true}`, `{"id":2}`}, `{"type":["object"],"properties":{"id":{"type":["integer"]},"more":{"type":["boolean"]}},"required":["id"]}`},
		{"a list", []string{`[]`, `[{"a":1},{"a":null}]`}, `{"type":["array"],"items":{"type":["object"],"properties":{"a":{"type":["integer","null"]}},"required":["a"]}}`},
		{"keys that are data", []string{`{"ann@example.com":1,"sk-12345678":2}`}, `{"type":["object"],"additionalProperties":{"type":["integer"]}}`},
		{"rows under keys", []string{`{"ann":{"age":1},"bo":{"age":2},"cy":{"age":3}}`}, `{"type":["object"],"additionalProperties":{"type":["object"],"properties":{"age":{"type":["integer"]}},"required":["age"]}}`},
		{"a table after an object", []string{`{"ann":1}`, `{"b c":2}`}, `{"type":["object"],"additionalProperties":{"type":["integer"]}}`},
		{"an object after a table", []string{`{"b c":2}`, `{"ann":null}`}, `{"type":["object"],"additionalProperties":{"type":["integer","null"]}}`},
		{"an object or none", []string{`null`, `{"a":1}`}, `{"type":["null","object"],"properties":{"a":{"type":["integer"]}},"required":["a"]}`},
		{"no JSON", []string{`7`, `{`, ``}, `{"type":["integer"]}`},
		{"too deep", []string{`[[[[[[[[1]]]]]]]]`}, `{"type":["array"],"items":{"type":["array"],"items":{"type":["array"],"items":{"type":["array"],"items":{"type":["array"],"items":{"type":["array"]}}}}}}`},
	} {
		t.Run(test.title, func(t *testing.T) {
			var shape *Shape
			for _, v := range test.values {
				shape, _ = Seen(shape, []byte(v))
				if _, news := Seen(shape, []byte(v)); news {
					t.Errorf("%s is news again", v)
				}
			}
			if got, _ := json.Marshal(shape); string(got) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestSeenIsBounded(t *testing.T) {
	var wide strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&wide, `"m%c%c%c":{"x%d":[1,{"y":2}]},`, 'a'+i%26, 'a'+i/26%26, 'a'+i/676, i%90)
	}
	var shape *Shape
	for _, value := range []string{
		"{" + strings.TrimSuffix(wide.String(), ",") + "}",
		"[" + strings.TrimSuffix(strings.Repeat(`{"a":{"b":{"c":{"d":{"e":1}}}}},`, 3000), ",") + "]",
		strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		`"` + strings.Repeat("x", shapeBytes) + `"`,
	} {
		shape, _ = Seen(shape, []byte(value))
		if n := shape.size(); n > 2*shapeNodes {
			t.Errorf("a shape of %d parts", n)
		}
	}
	if slashed, _ := Seen(
		nil,
		[]byte(`{"token":"sk-secret","list":["sk-secret"],"sk-secret-0123456789":1}`),
	); strings.Contains(string(slashed.schema().Raw), "secret") {
		t.Errorf("a value is kept: %s", slashed.schema().Raw)
	}
}

func TestObserved(t *testing.T) {
	s := NewServer("s", "s", "", []json.RawMessage{
		json.RawMessage(`{"name":"a"}`),
		json.RawMessage(`{"name":"b","outputSchema":{"type":"object","properties":{}}}`),
		json.RawMessage(`{"name":"c"}`),
	})
	shape, news := Seen(nil, []byte(`[{"id":1}]`))
	if !news {
		t.Error("the first value is no news")
	}
	seen := s.WithObserved(map[string]*Shape{"a": shape, "b": shape, "gone": shape})
	for i, want := range []string{"a(**kwargs) -> list[dict]", "b(**kwargs) -> dict", "c(**kwargs) -> Any"} {
		if got := seen.Tools[i].Signature; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if s.Tools[0].Observed != nil || s.Tools[0].Returns != "Any" {
		t.Error("the server that was observed has changed")
	}
}
