package inquiry

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestFormsTakeAnswers: nobody is asked to fill in a form whose answer the SDK would drop, be it as the form stands or
// whatever is filled in. The reason names the field. What the SDK takes is shown as it is.
func TestFormsTakeAnswers(t *testing.T) {
	for _, c := range []struct{ field, want string }{
		{`"type":"string","default":3`, "default"},
		{`"type":"string","default":null`, `type "null"`},
		{`"type":"string","enum":["x","y"],"default":"z"`, "enum: z"},
		{`"type":"string","oneOf":[{"const":"x","title":"X"}],"default":"z"`, "oneOf"},
		{`"type":"string","minLength":2,"default":"z"`, "minLength"},
		{`"type":"string","maxLength":2,"default":"zzz"`, "maxLength"},
		{`"type":"string","pattern":"^[0-9]+$","default":"z"`, "pattern"},
		{`"type":"integer","default":1.5`, "type"},
		{`"type":"integer","default":"1"`, "default"},
		{`"type":"number","minimum":2,"default":1`, "minimum"},
		{`"type":"number","maximum":2,"default":3`, "maximum"},
		{`"type":"number","default":1e999`, "1e999"},
		{`"type":"boolean","default":"yes"`, "default"},
		{`"type":"array","items":{"type":"string","enum":["x"]},"default":["z"]`, "enum: z"},
		{`"type":"array","items":{"type":"string","enum":["x"]},"minItems":1,"default":[]`, "minItems"},
		{`"type":"array","items":{"type":"string","enum":["x"]},"default":"x"`, "type"},
		{`"type":"string","format":"hostname"`, `format "hostname"`},
		{`"type":"string","format":5`, "format"},
		{`"type":"string","pattern":"(?=x)"`, "pattern"},
		{`"type":"object"`, `type "object"`},
		{`"type":"string","maxLength":-1`, "maxLength"},
		{`"type":"string","enum":["` + strings.Repeat("x", 5000) + `"],"default":"z"`, "enum: z"},

		{`"type":"string","oneOf":[null]`, "null"},
		{`"type":"string","anyOf":[null]`, "anyOf"},
		{`"type":"array","items":{"anyOf":[{"const":"x","title":"X"},null]}`, "null"},

		{`"type":"integer","minimum":1.2,"maximum":1.8`, "from 1.2 to 1.8"},
		{`"type":"array","items":{"type":"string","enum":["x"]},"minItems":2,"maxItems":1`, "minItems"},
		{`"type":"array","items":{"type":"string","enum":[]},"minItems":1`, "choices"},
		{`"type":"string","enum":[]`, "choices"},
		{`"type":"string","enum":["x","y"],"minLength":3`, "choices"},
		{`"type":"string","oneOf":[{"const":"xyz","title":"X"}],"maxLength":2`, "choices"},

		{`"type":"integer","minimum":1.2,"maximum":2`, ""},
		{`"type":"array","items":{"type":"string","enum":["x"]},"minItems":1,"maxItems":1`, ""},
		{`"type":"string","enum":["x","yyy"],"minLength":3`, ""},
		{`"type":"string","format":"email","default":"nobody"`, ""}, // by its name alone
		{`"type":"string","enum":["x"],"format":"hostname"`, ""},
		{`"type":"integer","format":"int32","default":3.0`, ""},
		{`"type":"array","items":{"type":"string","enum":["x"],"default":"z"}`, ""}, // of which nothing is filled in
		{`"type":"number","minimum":2,"maximum":2,"default":2`, ""},
		{`"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"default":["x"]`, ""},
		{`"type":"string","title":"\u00e9","minLength":2`, ""}, // which a user fills in
	} {
		form := `{"type":"object","properties":{"other":{"type":"string"},"wanted":{` + c.field +
			`}},"required":["other","wanted"]}`
		_, err := Presentable("s", "t", &mcp.ElicitParams{Message: "m", RequestedSchema: json.RawMessage(form)})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%.200s: %v", form, err)
		case c.want == "":
		case err == nil:
			t.Errorf("%.200s is shown", form)
		case !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2*maxMisfit:
			t.Errorf("%.200s: %v", form, err)
		case !strings.Contains(err.Error(), `"wanted"`):
			t.Errorf("%.200s: no field in %v", form, err)
		}
	}
	many := `{"properties":{` + strings.Repeat(`"a":{"type":"string"},`, maxFormFields) + `"z":{"type":"string"}}}`
	for _, form := range []string{
		many, `{"type":"string"}`, `{"properties":5}`, `{"properties":{},"required":5}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`,
	} {
		if err := checkForm(json.RawMessage(form)); err == nil {
			t.Errorf("%s is shown", form)
		}
	}
}
