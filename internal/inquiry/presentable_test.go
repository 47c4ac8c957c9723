package inquiry

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestPresentable is about what a server may show to a user.
// TestOneKindOfQuestion holds that a form has no URL, which nobody has judged, and a URL no form.
func TestOneKindOfQuestion(t *testing.T) {
	both := func(mode string) *mcp.ElicitParams {
		return &mcp.ElicitParams{
			Meta: mcp.Meta{"m": 1}, Mode: mode, Message: "m", URL: "https://a.example/", ElicitationID: "e",
			RequestedSchema: json.RawMessage(`{"properties":{}}`),
		}
	}
	asked := both("form")
	asked.URL = "javascript:alert(1)"
	shown, err := Presentable("s", "t", asked)
	if p, ok := shown.(*mcp.ElicitParams); err != nil || !ok || p.URL != "" || p.ElicitationID != "" || p.Meta != nil {
		t.Errorf("%+v, %v", shown, err)
	}
	for _, mode := range []string{"url", ""} {
		shown, err := Presentable("s", "t", both(mode))
		p, ok := shown.(*mcp.ElicitParams)
		if err != nil || !ok || p.Mode != "url" || p.RequestedSchema != nil || p.Meta != nil {
			t.Errorf("%+v, %v", shown, err)
		}
	}
	person := Person(func(_ context.Context, p Prompt) (map[string]any, bool, error) { return nil, p.URL == "", nil })
	answer, err := person.Respond(t.Context(), both("form"))
	if result, ok := answer.(*mcp.ElicitResult); err != nil || !ok || result.Action != "accept" {
		t.Errorf("a person is asked to open the URL of a form: %+v, %v", answer, err)
	}
}

func TestPresentable(t *testing.T) {
	form := func(schema string) *mcp.ElicitParams {
		return &mcp.ElicitParams{Message: "m", RequestedSchema: json.RawMessage(schema)}
	}
	for _, c := range []struct {
		asked *mcp.ElicitParams
		want  string // the form or URL that is shown, or a part of the error
	}{
		{
			form(`{"properties":{"z":{"type":"number","title":"a\u0007b","default":1.50},` +
				`"a":{"type":"string","enum":["x\u00e9"],"enumNames":["\u202e"]}}}`),
			`{"properties":{"z":{"type":"number","title":"a\\x07b","default":1.50},` +
				`"a":{"type":"string","enum":["xé"],"enumNames":["\\u202e"]}}}`,
		},
		{form(`{"properties":{"a\u202e":{}}}`), "characters that are not seen"},
		{form(`{"properties":{"a":{"enum":["\u0000"]}}}`), "characters that are not seen"},
		{form(`{"properties":{"a":{"enum":["a","a\u2800"]}}}`), "characters that are not seen"},
		{form(`{"properties":{"a":{},"a":{"type":"string"}}}`), "two members"},
		{form(`{"title":"` + strings.Repeat("x", maxFormShown) + `"}`), "more than"},
		{form(``), "requestedSchema"},
		{&mcp.ElicitParams{URL: "https://a.example/b?c=d"}, "https://a.example/b?c=d"},
		{&mcp.ElicitParams{URL: "https://a.example@b.example/"}, "user's name"},
		{&mcp.ElicitParams{URL: "http://2130706433/"}, "spells an address"},
		{&mcp.ElicitParams{URL: `https://good.example/\..\x`}, "no URL has"},
		{&mcp.ElicitParams{URL: "https://good.example/#<b>"}, "no URL has"},
		{&mcp.ElicitParams{URL: "javascript:alert(1)"}, "no http"},
		{&mcp.ElicitParams{URL: "https://" + strings.Repeat("a.", maxHostShown) + "example/"}, "no http"},
		{&mcp.ElicitParams{URL: "https://а.example/"}, "characters that no URL has"},
		{&mcp.ElicitParams{URL: "https://%D0%B0.example/"}, "characters that no URL has"},
		{&mcp.ElicitParams{Mode: "window"}, "no elicitation of mode"},
	} {
		shown, err := Presentable("s", "t", c.asked)
		got := ""
		if err != nil {
			got = err.Error()
		} else if p := shown.(*mcp.ElicitParams); p.Mode == "url" {
			got = p.URL
		} else {
			got = string(p.RequestedSchema.(json.RawMessage))
		}
		if !strings.Contains(got, c.want) || err == nil && got != c.want {
			t.Errorf("%+v: %q, %v, want %q", c.asked, got, err, c.want)
		}
	}
}

// TestID holds that a server's id reaches no client with characters that are not seen.
func TestID(t *testing.T) {
	asked := &mcp.ElicitParams{Mode: "url", URL: "https://a.example/", ElicitationID: "8\n\x1b[2J\u202e"}
	shown, err := Presentable("files", "", asked)
	if err != nil {
		t.Fatal(err)
	}
	const want = `files/8\n\x1b[2J\u202e`
	if got := shown.(*mcp.ElicitParams).ElicitationID; got != want || ID("files", asked.ElicitationID) != want {
		t.Errorf("the id is %q, want %q", got, want)
	}
}

// TestFormsAreFlat: of a form nothing is shown by which it refers to itself, in whichever spelling, for whoever judges
// answers by it would not end.
func TestFormsAreFlat(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","$ref":"#","properties":{"a":{"type":"string"}}}`:                    "flat",
		`{"properties":{"a":{"type":"string","$ref":"#/$defs/d"}},"$defs":{"d":{"allOf":[]}}}`: "flat",
		`{"type":"object","properties":{"a":{"type":"string"}},"allOf":[{"$REF":"#"}]}`: `` +
			`{"type":"object","properties":{"a":{"type":"string"}}}`,
		`{"properties":{"a":{"type":"array","items":{"anyOf":[{"$dynamicRef":"#x","const":"y"}],"Pattern":"x"}}}}`: `` +
			`{"properties":{"a":{"type":"array","items":{"anyOf":[{"const":"y"}]}}}}`,
		`{"additionalProperties":{"$DynamicRef":"#"},"properties":{"$REF":{"type":"string","Default":"b"}}}`: `` +
			`{"properties":{"$REF":{"type":"string"}}}`,
		`{"patternProperties":{"(?:.?){1000}":{}},"properties":{"a":{"not":{},"type":"string"}}}`: `` +
			`{"properties":{"a":{"type":"string"}}}`,
	} {
		shown, err := presentableForm(json.RawMessage(schema))
		got := fmt.Sprint(string(shown), err)
		if err == nil && got != want+"<nil>" || err != nil && !strings.Contains(got, want) {
			t.Errorf("%s: %s", schema, got)
		}
	}
}

// TestPatternsAreShort: whoever judges answers by a form's patterns takes no longer for each character than they may.
func TestPatternsAreShort(t *testing.T) {
	field := func(pattern string) string { return `{"type":"string","pattern":` + string(quoted(pattern)) + `}` }
	long := "^(?:" + strings.Repeat("(?:.?){100}", 4) + ")$" // 800 steps and some
	for _, c := range []struct {
		fields string
		ok     bool
	}{
		{`"pattern":` + field(`^[\w.+-]{1,64}@[\w-]{1,63}(\.[\w-]{1,63}){1,8}$`), true},
		{`"a":` + field(long) + `,"b":` + field(long), true},
		{`"a":` + field(long) + `,"b":` + field(long) + `,"c":` + field(long), false},
		{`"a":{"type":"array","items":` + field(long) + `},"b":` + field(long) + `,"c":` + field(long), false},
		{`"a":` + field(strings.Repeat("(?:.?){1000}", 80)), false},
		{`"a":` + field(strings.Repeat("x", maxPattern+1)), false},
		{`"a":` + field(`(?=x)`), true}, // which Go does not know
	} {
		schema := json.RawMessage(`{"properties":{` + c.fields + `}}`)
		shown, err := presentableForm(schema)
		if err == nil != c.ok || c.ok && string(shown) != string(schema) {
			t.Errorf("%.200s: %s, %v", schema, shown, err)
		}
	}
}

func quoted(text string) []byte {
	b, _ := json.Marshal(text)
	return b
}
