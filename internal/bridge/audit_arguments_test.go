package bridge

import (
	"testing"

	"codemode/internal/bridge/bridgetest"
	"codemode/internal/config"
	"codemode/internal/servers"
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
	set := servers.NewSet(k.Servers().Configured().All, nil)
	set.Others = []config.Server{{Name: "off", Env: map[string]string{"KEY": "offhush"}}}
	k.Servers().Update(set)
	if text, _ := k.shownArguments([]byte(`{"a":"offhush"}`)); text != `{"a":"***"}` {
		t.Errorf("with a server that is switched off: %q", text)
	}
	set.Unread = "mcp.json"
	k.Servers().Update(set)
	want := `arguments are left out while "mcp.json" cannot be read as a whole, whose values are not known`
	if text, note := k.shownArguments([]byte(`{"a":1}`)); text != "" || note != want {
		t.Errorf("while a file cannot be read: %q, %q", text, note)
	}
}
