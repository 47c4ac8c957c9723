package inquiry

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

// TestForm fills in a form as a person at a terminal does, by the lines that are typed.
func TestForm(t *testing.T) {
	const schema = `{"type":"object","required":["z","n"],"properties":{
		"z":{"type":"string","title":"Zed","description":"the last","minLength":2,"maxLength":3},
		"a":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"],"default":"g"},
		"n":{"type":"integer","minimum":0,"maximum":9},"f":{"type":"number","default":95.5},
		"b":{"type":"boolean"},
		"m":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"},{"const":"y,z","title":"Y"}]}}}}`
	for typed, want := range map[string]string{
		"abc||7|||":            `{"a":"g","f":95.5,"n":7,"z":"abc"}`,
		"ab|r|0|1e3|yes|x":     `{"a":"r","b":true,"f":1e3,"m":["x"],"n":0,"z":"ab"}`,
		"ab|Red|0|1|n|X, x":    `{"a":"r","b":false,"f":1,"m":["x","x"],"n":0,"z":"ab"}`,
		"ab|r|0|||y,z":         `{"a":"r","f":95.5,"m":["y,z"],"n":0,"z":"ab"}`,
		"|":                    "it is needed",
		"a|":                   "it has less than 2 characters",
		"abcd|":                "it has more than 3 characters",
		"abc|blue|":            `"blue" is not among them`,
		"abc|r,g|":             "it is one of them",
		"abc|r|1.5|":           "it is no whole number",
		"abc|r|0x1|":           "it is no number",
		"abc|r|-1|":            "it is less than 0",
		"abc|r|10|":            "it is more than 9",
		"abc|r|1|NaN|":         "it is no number",
		"abc|r|1|1|perhaps|":   "it is neither yes nor no",
		"abc|r|1|1|y|x, blue|": `"blue" is not among them`,
	} {
		var asked Prompt
		person := Person(func(_ context.Context, q Prompt) (map[string]any, bool, error) {
			asked = q
			values := map[string]any{}
			for i, line := range strings.Split(typed, "|") {
				if i < len(q.Fields) {
					value, given, err := q.Fields[i].Read(line)
					if err != nil {
						return nil, false, err
					}
					if given {
						values[q.Fields[i].Name] = value
					}
				}
			}
			return values, true, nil
		})
		response, err := person.Respond(
			t.Context(), &mcp.ElicitParams{Message: "who\nwhat\nwhat", RequestedSchema: json.RawMessage(schema)},
		)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			content, _ := json.Marshal(response.(*mcp.ElicitResult).Content)
			got = string(content)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", typed, got, want)
		}
		if asked.Who != "who" || asked.Text != "what\nwhat" || len(asked.Fields) != 6 {
			t.Errorf("asked %+v", asked)
		}
		want, shown := "Zed: the last, text; r (Red), g (Green); Enter for \"g\"", asked.Fields
		if got := shown[0].About + ", " + shown[0].Takes + "; " + shown[1].Takes; got != want {
			t.Errorf("shown %s, want %s", got, want)
		}
	}
	for schema, want := range map[string]string{
		`{"properties":{"a":{"type":"object"}}}`:                                                            "and there is none",
		`{"properties":{` + strings.Repeat(`"a":{"type":"string"},`, maxFields) + `"b":{"type":"string"}}}`: "more than 50 fields",
	} {
		if _, err := Person(nil).Respond(
			t.Context(), &mcp.ElicitParams{RequestedSchema: json.RawMessage(schema)},
		); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v", schema, err)
		}
	}
}

// TestFormats takes of a text with a format what it is said to be, and nothing else.
func TestFormats(t *testing.T) {
	for format, typed := range map[string][2]string{
		"email":     {"ada@example.com", "Ada <ada@example.com>"},
		"uri":       {"https://example.com/a?b", "example.com/a"},
		"date":      {"2026-02-28", "2026-02-30"},
		"date-time": {"2026-02-28T10:00:00+01:00", "2026-02-28 10:00"},
	} {
		fields, err := fieldsOf(gjson.Parse(`{"properties":{"a":{"type":"string","format":"` + format + `"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		f := fields[0]
		if value, _, err := f.Read(typed[0]); value != typed[0] || err != nil {
			t.Errorf("%s: %q is read as %v, %v", format, typed[0], value, err)
		}
		what, _, _ := strings.Cut(f.Takes, ";")
		if _, _, err := f.Read(typed[1]); err == nil || err.Error() != "it is not "+what {
			t.Errorf("%s, which takes %s: %q is refused by %v", format, f.Takes, typed[1], err)
		}
	}
}
