package bridge

import (
	"testing"

	"codemode/internal/bridge/bridgetest"
	"codemode/internal/config"
)

// TestShownArguments holds that the log has what was sent, but for secrets however they are written.
func TestShownArguments(t *testing.T) {
	k := newKitOn(
		t, &bridgetest.Scripted{T: t}, nil,
		config.Server{Name: "idle", Command: "none", Env: map[string]string{"KEY": "1234567hush"}},
	)
	for _, c := range []struct{ sent, text, note string }{
		{` { "b" : [1, 2.50, true, null, {}], "a": "<\u0041>" } `, `{"b":[1,2.50,true,null,{}],"a":"<A>"}`, ""},
		{`{"c":"evil","c":"fine"}`, "", `arguments that are not canonical are left out: the member "c" is there twice`},
		{`{"a":{"c":1},"b":{"c":2},"c":3}`, `{"a":{"c":1},"b":{"c":2},"c":3}`, ""},
		{`{"1234567hush":"x 1234567hus\u0068"}`, `{"***":"x ***"}`, ""},
	} {
		if text, note := k.shownArguments([]byte(c.sent)); text != c.text || note != c.note {
			t.Errorf("%.60s: %.200q, %q", c.sent, text, note)
		}
	}
}
