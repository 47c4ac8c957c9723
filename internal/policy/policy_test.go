package policy

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func call(server, tool string) Call {
	return Call{Server: server, Tool: tool, Hints: Worst}
}

func TestDecide(t *testing.T) {
	aliased := Call{
		Server: "My-Server", ServerAliases: []string{"my_server"},
		Tool: "delete-it", ToolAliases: []string{"delete_it_2", "delete_it"}, Hints: Worst,
	}
	reading := Call{Server: "s", Tool: "get", Hints: Hints{ReadOnly: true}}
	for _, tt := range []struct {
		name  string
		rules Rules
		call  Call
		rule  string // empty: it may be made
	}{
		{"no rules", Rules{}, call("s", "t"), ""},
		{"deny by name", Rules{Deny: []string{"s.t"}}, call("s", "t"), "deny:s.t"},
		{"a tool without a name", Rules{Deny: []string{"s.*"}}, call("s", ""), "deny:s.*"},
		{"a tool without a name in Python", Rules{Deny: []string{"s.?"}}, call("s", ""), ""},
		{"deny wins", Rules{Deny: []string{"*.t"}, Allow: []string{"s.t"}}, call("s", "t"), "deny:*.t"},
		{"the first that fits is told", Rules{Deny: []string{"x.*", "*.t", "s.*"}}, call("s", "t"), "deny:*.t"},
		{"allowed", Rules{Allow: []string{"s.*"}}, call("s", "t"), ""},
		{"not allowed", Rules{Allow: []string{"s.*"}}, call("x", "t"), "allow"},
		{"the case of a server's name counts", Rules{Deny: []string{"S.t"}}, call("s", "t"), ""},
		{"that of a tool's does not", Rules{Deny: []string{"s.Delete_*"}}, call("s", "delete_All"), "deny:s.Delete_*"},
		{"but white space is a part of a name", Rules{Deny: []string{"s.delete"}}, call("s", "delete "), ""},
		{"and so is case where it is allowed", Rules{Allow: []string{"s.get"}}, call("s", "GET"), "allow"},
		{"* stays on its side of the dot", Rules{Allow: []string{"github.*"}}, call("github.evil", "t"), "allow"},
		{"a dot in the server's name", Rules{Deny: []string{"io.github.x.*"}}, call("io.github.x", "t"), "deny:io.github.x.*"},
		{"a dot in the tool's name", Rules{Deny: []string{"s.user.delete"}}, call("s", "user.delete"), "deny:s.user.delete"},
		{"a server in quotes", Rules{Allow: []string{`"a.b".c`}}, call("a.b", "c"), ""},
		{"a server in quotes, and no other", Rules{Allow: []string{`"a.b".c`}}, call("a", "b.c"), "allow"},
		{"a tool with a dot", Rules{Allow: []string{`"a".b.*`}}, call("a", "b.c"), ""},
		{"a tool with a dot, and no server", Rules{Allow: []string{`"a".b.*`}}, call("a.b", "c"), "allow"},
		{"quotes are part of the name", Rules{Deny: []string{`"\"a".c`}}, call(`"a`, "c"), `deny:"\"a".c`},
		{"a slash", Rules{Deny: []string{"*.delete"}}, call("io.github.a/b", "delete"), "deny:*.delete"},
		{"the Python names are denied, too", Rules{Deny: []string{"my_server.delete_it"}}, aliased, "deny:my_server.delete_it"},
		{"but do not allow", Rules{Allow: []string{"my_server.delete_it"}}, aliased, "allow"},
		{"a namesake of another program", Rules{Deny: []string{"prod.*"}}, call("prod@cursor", "t"), "deny:prod.*"},
		{"is not allowed by it", Rules{Allow: []string{"prod.*"}}, call("prod@cursor", "t"), "allow"},
		{"a word", Rules{Deny: []string{"destructive"}}, call("s", "t"), "deny:destructive"},
		{"a word that does not hold", Rules{Deny: []string{"destructive", "openworld"}}, reading, ""},
		{"a negated word", Rules{Deny: []string{"!readonly"}}, call("s", "t"), "deny:!readonly"},
		{"only what reads", Rules{Allow: []string{"readonly"}}, reading, ""},
		{"arguments as large as may be", Rules{MaxArguments: 10}, Call{Arguments: 10}, ""},
		{"arguments too large", Rules{MaxArguments: 10}, Call{Arguments: 11}, "max_arguments"},
		{"the last call of a run", Rules{CallsPerRun: 2}, Call{InRun: 1}, ""},
		{"one more", Rules{CallsPerRun: 2}, Call{InRun: 2}, "calls_per_run"},
		{"too fast", Rules{CallsPerMinute: 60}, Call{LastMinute: 60}, "calls_per_minute"},
	} {
		tt.rules.Confirm = []string{"asked.*"} // of which none of these is
		d := tt.rules.Decide(tt.call)
		if prepared := tt.rules.Decide(tt.rules.Prepare(tt.call)); prepared != d {
			t.Errorf("%+v: prepared, it is %+v, else %+v", tt.call, prepared, d)
		}
		if d.Rule != tt.rule || d.Denied != (tt.rule != "") || d.Denied && d.Why == "" {
			t.Errorf("%s: %+v, want rule %q", tt.name, d, tt.rule)
		}
	}
}

// TestUnreadNames holds that a server which may have more names has each of them where a rule limits what is called,
// and none where a rule allows it.
func TestUnreadNames(t *testing.T) {
	c := Call{Server: "s", Tool: "put", Hints: Worst, Unread: `"mcp.json" is empty`}
	const why = `"mcp.json" is empty, and may have its server by the name in `
	for _, tt := range []struct {
		rules Rules
		want  Decision
	}{
		{Rules{Deny: []string{"alias.put"}}, denied("deny:alias.put", why+`"alias.put" of policy.deny`)},
		{Rules{Deny: []string{"al*.PU?"}}, denied("deny:al*.PU?", why+`"al*.PU?" of policy.deny`)},
		{Rules{Deny: []string{`"a.b".*`}}, denied(`deny:"a.b".*`, why+`"\"a.b\".*" of policy.deny`)},
		{Rules{Deny: []string{"alias.get", "alias.put.it", "readonly"}}, Decision{}},
		{Rules{Deny: []string{"alias.put", "s.put"}}, denied("deny:s.put", `it fits "s.put" of policy.deny`)},
		{Rules{Deny: []string{"a.put"}, Allow: []string{"s.*"}}, denied("deny:a.put", why+`"a.put" of policy.deny`)},
		{Rules{Allow: []string{"alias.put"}}, denied("allow", "nothing in policy.allow fits it")},
		{
			Rules{Confirm: []string{"alias.*"}, Approved: []string{"alias.put"}},
			Decision{Ask: true, Rule: "confirm:alias.*", Why: why + `"alias.*" of policy.confirm`},
		},
		{Rules{Confirm: []string{"alias.*"}, Approved: []string{"s.put"}}, Decision{}},
	} {
		if d := tt.rules.Decide(c); d != tt.want {
			t.Errorf("%+v: got %+v, want %+v", tt.rules, d, tt.want)
		}
	}
}

// TestDoubtedName holds that a name which may be another server's forbids and does not allow.
func TestDoubtedName(t *testing.T) {
	c := Call{Server: "s", ServerNames: []string{"s@b"}, Doubted: []string{"s"}, Tool: "put", Hints: Worst}
	for _, tt := range []struct {
		rules       Rules
		denied, ask bool
	}{
		{Rules{Allow: []string{"s.*"}}, true, false},
		{Rules{Allow: []string{"s@b.*"}}, false, false},
		{Rules{Deny: []string{"s.*"}}, true, false},
		{Rules{Deny: []string{"s@b.*"}}, true, false},
		{Rules{Confirm: []string{"*.*"}, Approved: []string{"s.*"}}, false, true},
		{Rules{Confirm: []string{"*.*"}, Approved: []string{"s@b.*"}}, false, false},
	} {
		if d := tt.rules.Decide(c); d.Denied != tt.denied || d.Ask != tt.ask {
			t.Errorf("%+v: got %+v", tt.rules, d)
		}
	}
}

func TestConfirm(t *testing.T) {
	aliased := Call{
		Server: "my-notes", ServerAliases: []string{"my_notes"}, Tool: "drop", ToolAliases: []string{"drop"}, Hints: Worst,
	}
	for _, tt := range []struct {
		name  string
		rules Rules
		call  Call
		want  string
	}{
		{"by name", Rules{Confirm: []string{"*.drop"}}, call("s", "drop"), "confirm:*.drop"},
		{"by the Python name", Rules{Confirm: []string{"my_notes.*"}}, aliased, "confirm:my_notes.*"},
		{"by a word", Rules{Confirm: []string{"destructive"}}, call("s", "t"), "confirm:destructive"},
		{"what reads is not asked about", Rules{Confirm: []string{"destructive"}}, Call{Server: "s", Tool: "t", Hints: Hints{ReadOnly: true}}, ""},
		{"approved", Rules{Confirm: []string{"destructive"}, Approved: []string{"s.t"}}, call("s", "t"), ""},
		{"approved by a Python name", Rules{Confirm: []string{"*.*"}, Approved: []string{"my_notes.*"}}, aliased, "confirm:*.*"},
		{"approved, but denied", Rules{Deny: []string{"s.t"}, Confirm: []string{"s.t"}, Approved: []string{"s.t"}}, call("s", "t"), "deny:s.t"},
	} {
		if d := tt.rules.Decide(tt.call); d.Rule != tt.want || d.Ask != strings.HasPrefix(tt.want, "confirm:") ||
			d.Denied == d.Ask && d.Rule != "" {
			t.Errorf("%s: %+v, want %q", tt.name, d, tt.want)
		}
	}
}

func TestResult(t *testing.T) {
	r := Rules{MaxResult: 10}
	if r.Result(10).Denied || r.Result(11).Rule != "max_result" || (Rules{}).Result(1<<40).Denied {
		t.Error("a result may have as many bytes as max_result says, and no more")
	}
}

func TestValid(t *testing.T) {
	for pattern, want := range map[string]bool{
		`"a.b".c`: true, `"a".`: true, `"a"`: false, `"".c`: false, `"a[".c`: false,
		"a.b": true, "*.*": true, "a.[x-z]*": true, "readonly": true, "!openworld": true,
		"": false, "a": false, "a.": false, ".b": false, "a.[": false, "!a.b": false, "readOnly": false, "!destructve": false,
	} {
		if Valid(pattern) != want {
			t.Errorf("%q: %v", pattern, !want)
		}
	}
}

// TestReadings holds that what could be about two tools is written in each of the ways.
func TestReadings(t *testing.T) {
	for pattern, want := range map[string][]string{
		"a.b": nil, "*.x*": nil, `"a.b".c`: nil, `"a".b.c`: nil, "!readonly": nil,
		"a.b.c":   {`"a".b.c`, `"a.b".c`},
		`a\.b.c`:  nil, // that dot is part of a name
		"a.b.*.c": {`"a".b.*.c`, `"a.b".*.c`, `"a.b.*".c`},
	} {
		got := Readings(pattern)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
		for _, p := range got {
			if !Valid(p) || Readings(p) != nil {
				t.Errorf("%q is no clear pattern", p)
			}
		}
	}
}

// FuzzName holds that a tool's own pattern is clear, fits the tool, and no other of the same server; nor one of another
// whose names are the same in a row.
func FuzzName(f *testing.F) {
	f.Add("a", "b")
	f.Add("a.b", "c")
	f.Add("a", "b.c")
	f.Add("io.github.x/y@cursor", `*?[]\.^-`)
	f.Fuzz(func(t *testing.T, server, tool string) {
		if server == "" || tool == "" || strings.ContainsRune(server+tool, '\x00') || !utf8.ValidString(server) || !utf8.ValidString(tool) ||
			strings.Contains(server+tool, "/") {
			t.Skip()
		}
		p := Name(server, tool)
		if !Valid(p) || Readings(p) != nil {
			t.Errorf("%q can be read as %q", p, Readings(p))
		}
		if of, rest, dotted := strings.Cut(server, "."); dotted && fits(p, Call{Server: of, Tool: rest + "." + tool}, narrow) {
			t.Errorf("%q fits %q of %q, too", p, rest+"."+tool, of)
		}
		if rest, name, dotted := strings.Cut(tool, "."); dotted && fits(p, Call{Server: server + "." + rest, Tool: name}, narrow) {
			t.Errorf("%q fits %q of %q, too", p, name, server+"."+rest)
		}
		if !fits(p, Call{Server: server, Tool: tool}, narrow) {
			t.Errorf("%q does not fit %q %q", p, server, tool)
		}
		if fits(p, Call{Server: server, Tool: tool + "x"}, narrow) {
			t.Errorf("%q fits %q, too", p, tool+"x")
		}
	})
}
