package bridge

import (
	"strings"
	"testing"

	"codemode/internal/config"
)

// TestShownArguments holds that the log has what was sent, of which readers of JSON may take different parts.
func TestShownArguments(t *testing.T) {
	k := newKitOn(t, &scripted{t: t}, nil, config.Server{Name: "idle", Command: "none", Env: map[string]string{"KEY": "1234567hush"}})
	twice := "a member is there twice, of which a server may take either"
	for _, c := range []struct{ sent, text, note string }{
		{` { "b" : [1, 2.50, true, null, {}], "a": "<\u0041>" } `, `{"b":[1,2.50,true,null,{}],"a":"<A>"}`, ""},
		{`{"c":"evil","c":"fine"}`, `{"c":"evil","c":"fine"}`, twice},
		{`[{"x":{"c":1,"\u0063":2}},{"c":3}]`, `[{"x":{"c":1,"c":2}},{"c":3}]`, twice},
		{`{"a":{"c":1},"b":{"c":2},"c":3}`, `{"a":{"c":1},"b":{"c":2},"c":3}`, ""},
		{`{"1234567hush":"x 1234567hus\u0068"}`, `{"***":"x ***"}`, ""},
		{`{"c":`, "", "arguments that are not JSON are left out"},
		{strings.Repeat("[", 100000) + strings.Repeat("]", 100000), "", "arguments that are not JSON are left out"},
	} {
		if text, note := k.shownArguments([]byte(c.sent)); text != c.text || note != c.note {
			t.Errorf("%.60s: %.200q, %q", c.sent, text, note)
		}
	}
}
