package splice_test

import (
	"strings"
	"testing"

	"codemode/internal/clientcfg/splice"
)

func TestRemoveAll(t *testing.T) {
	for _, c := range []struct {
		name     string
		format   splice.Format
		path     []string
		names    string
		prune    bool
		in, want string
	}{
		{
			"all but one", splice.JSONC, servers[:1], "a c", false,
			"{\n  \"mcpServers\": {\n    // about a\n    \"a\": { /* in a */ }, // tail a\n    \"b\": {}, // tail b\n    /* about c */ \"c\": {} // tail c\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    // about a\n // tail a\n    \"b\": {} // tail b\n    /* about c */ // tail c\n  }\n}\n",
		},
		{
			"all of JSON", splice.JSON, servers[:1], "a b", false,
			"{\n  \"mcpServers\": {\n    \"a\": {},\n    \"b\": {}\n  },\n  \"x\": 1\n}\n", "{\n  \"mcpServers\": {},\n  \"x\": 1\n}\n",
		},
		{
			"a comment that would reach over the bracket", splice.JSONC, servers[:1], "b", false,
			"{ \"mcpServers\": { \"a\": {}, // tail a\n \"b\": {} } }", "{ \"mcpServers\": { \"a\": {} // tail a\n } }",
		},
		{
			"prune", splice.JSON,
			[]string{"mcp", "servers"},
			"a", true,
			"{\n  \"mcp\": {\n    \"servers\": {\n      \"a\": {}\n    }\n  },\n  \"x\": 1\n}\n", "{\n  \"x\": 1\n}\n",
		},
		{
			"prune but a comment", splice.JSONC,
			[]string{"mcp", "servers"},
			"a", true,
			"{\n  \"mcp\": {\n    // mine\n    \"servers\": {\n      \"a\": {}\n    }\n  }\n}\n", "{\n  \"mcp\": {\n    // mine\n  }\n}\n",
		},
		{
			"absent", splice.JSON, servers[:1], "z", true,
			mark + `{"mcpServers":{}}`, mark + `{"mcpServers":{}}`,
		},
		{
			"25 TOML with the tables in it", splice.TOML, table[:1], "codemode", true,
			"[mcp_servers.alpha]\nx = 1\n# end of alpha\n\n[mcp_servers.codemode] # ours\ncommand = 'x'\n# in it\n[mcp_servers.codemode.env]\nA = '1'\n\n# about beta\n[mcp_servers.beta]\ncommand = 'b'\n\n[mcp_servers.codemode.tools.x]\ny = 1\n",
			"[mcp_servers.alpha]\nx = 1\n# end of alpha\n\n# about beta\n[mcp_servers.beta]\ncommand = 'b'\n",
		},
		{
			"TOML neighbours", splice.TOML, table[:1], "a b", false,
			"[mcp_servers.a]\nx = 1\n\n# about b\n[mcp_servers.b]\nx = 1", "\n# about b",
		},
		{
			"27 TOML array", splice.TOMLArray, table[:1], "a c", false,
			"[[mcp_servers]]\nname = 'a'\n[mcp_servers.env]\nA = '1'\n\n# about b\n[[mcp_servers]]\nname = 'b'\n\n[[mcp_servers]]\nname = 'c'\n",
			"\n# about b\n[[mcp_servers]]\nname = 'b'\n",
		},
		{
			"a name that is given twice", splice.TOMLArray, table[:1], "a a", false,
			"[[mcp_servers]]\nname = 'a'\n\n[[mcp_servers]]\nname = 'b'\n", "\n[[mcp_servers]]\nname = 'b'\n",
		},
		{
			"28 YAML", splice.YAML, extension[:1], "developer web legacy", true, goose,
			strings.NewReplacer(
				"  developer: {bundled: true, enabled: true, type: builtin, name: developer}\n", "",
				"  web: {type: streamable_http, uri: \"https://x/mcp\", enabled: false}\n", "",
				"  legacy: {type: sse, uri: \"https://x/sse\"}\n", "",
			).Replace(goose),
		},
		{
			"YAML all", splice.YAML, extension[:1], "a b", false,
			"extensions: # mine\n  a: 1\n  # about b\n  b:\n    c: 1\n    # in b\nx: 1\n", "extensions: {} # mine\n  # about b\nx: 1\n",
		},
		{
			"YAML prune", splice.YAML, extension[:1], "a b", true,
			"x: 1\nextensions:\n  a: 1\n  b:\n    c: 1", "x: 1",
		},
		{
			"YAML aliases", splice.YAML, extension[:1], "a", true,
			"y: &y {z: 1}\nextensions:\n  a: *y\n  b: *y\n", "y: &y {z: 1}\nextensions:\n  b: *y\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := splice.Parse([]byte(c.in), c.format)
			if err != nil {
				t.Fatal(err)
			}
			out, err := d.RemoveAll(c.path, strings.Fields(c.names), c.prune)
			if err != nil || string(out) != c.want {
				t.Errorf("it gives %v\n%s\nnot\n%s", err, out, c.want)
			}
		})
	}
}

// TestRemoveTwice refuses to remove an entry of which there are two: they are not the same.
func TestRemoveTwice(t *testing.T) {
	for _, c := range []struct {
		format splice.Format
		in     string
	}{
		{splice.JSON, `{"mcp_servers":{"codemode":1,"b":2,"codemod\u0065":{}}}`},
		{splice.TOMLArray, "[[mcp_servers]]\nname = 'codemode'\n[[mcp_servers]]\nname = 'codemode'\n"},
		{splice.YAMLList, "mcp_servers:\n  - name: codemode\n  - name: b\n  - name: codemode\n"},
	} {
		out, err := parsed(t, c.format, c.in).Remove(table, true)
		if err == nil || !strings.Contains(err.Error(), `"codemode" is there twice; remove one by hand`) {
			t.Errorf("%s: it gives %v\n%s", c.format, err, out)
		}
	}
}

// TestRemoveShared refuses to take away what something else in the file points to.
func TestRemoveShared(t *testing.T) {
	d, err := splice.Parse([]byte("extensions:\n  a: &x {b: 1}\n  c: *x\n"), splice.YAML)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := d.Remove([]string{"extensions", "a"}, false); err == nil {
		t.Errorf("it gives\n%s", out)
	}
}

func TestDrop(t *testing.T) {
	for _, c := range []struct {
		format   splice.Format
		in, want string
	}{
		{splice.JSONC, "{\"mcp_servers\": {\"codemode\": {\n  \"a\": 1, // a\n  \"env\": {\"K\": 1},\n  \"b\": 2\n}}}", "{\"mcp_servers\": {\"codemode\": {\n  \"a\": 1 // a\n}}}"},
		{splice.TOML, "[mcp_servers.codemode]\na = 1 # a\nb = 2 # b\n[mcp_servers.codemode.env]\nK = 1\n", "[mcp_servers.codemode]\na = 1 # a\n# b\n"},
		{splice.TOMLArray, "[[mcp_servers]]\nname = 'codemode'\nb = 2\nenv.K = 1\n", "[[mcp_servers]]\nname = 'codemode'\n"},
		{splice.YAML, "mcp_servers:\n  codemode:\n    a: 1 # a\n    b: 2\n    env:\n      K: 1\n  z: 1\n", "mcp_servers:\n  codemode:\n    a: 1 # a\n  z: 1\n"},
	} {
		d, err := splice.Parse([]byte(c.in), c.format)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := d.Drop(table, "b", "env", "none"); err != nil || string(out) != c.want {
			t.Errorf("%s: it gives %v\n%s\nnot\n%s", c.format, err, out, c.want)
		}
		if out, err := d.Drop([]string{"mcp_servers", "none"}, "b"); err != nil || string(out) != c.in {
			t.Errorf("%s: of an entry that is not there, it gives %v\n%s", c.format, err, out)
		}
	}
}

// TestPutBack removes an entry, and puts it back from its text.
func TestPutBack(t *testing.T) {
	for _, c := range []struct {
		format   splice.Format
		path     []string
		in, want string // want is empty where it is in
	}{
		{splice.JSONC, []string{"mcpServers", "b"}, "{\n\t\"mcpServers\": {\n\t\t\"a\": 1,\n\t\t\"b\": {\n\t\t\t// \\u00e9\n\t\t\t\"c\": \"\\u00e9\",\n\t\t},\n\t},\n}\n", ""},
		{splice.TOML, []string{"mcp_servers", "b"}, "[mcp_servers.a]\nx = 1\n\n[mcp_servers.b] # b\nx = 0x1F\n\n[mcp_servers.b.env]\nA = '''\n'''\n", ""},
		{splice.TOMLArray, []string{"mcp_servers", "b"}, "[[mcp_servers]]\nname = 'b' # b\n[mcp_servers.env]\nA = ''\n\n[[mcp_servers]]\nname = 'a'\n", "\n[[mcp_servers]]\nname = 'a'\n\n[[mcp_servers]]\nname = 'b' # b\n[mcp_servers.env]\nA = ''\n"},
		{splice.YAML, []string{"extensions", "b"}, "extensions:\n    a: 1\n    b: # b\n        c: |\n          x\n           y\n\n        d: 1\nz: 1\n", ""},
	} {
		d := parsed(t, c.format, c.in)
		raw, ok := d.Raw(c.path)
		if !ok {
			t.Fatalf("%s: there is no text", c.format)
		}
		if out := must(t)(d.SetRaw(c.path, raw)); out != c.in {
			t.Errorf("%s: putting back what is there gives\n%s", c.format, out)
		}
		gone := must(t)(d.Remove(c.path, false))
		out := must(t)(parsed(t, c.format, gone).SetRaw(c.path, raw))
		if want := c.want; out != want && (want != "" || out != c.in) {
			t.Errorf("%s: it gives\n%s", c.format, out)
		}
		fresh := must(t)(parsed(t, c.format, "").SetRaw(c.path, raw))
		if again, ok := parsed(t, c.format, fresh).Raw(c.path); !ok ||
			strings.Join(strings.Fields(string(again)), " ") != strings.Join(strings.Fields(string(raw)), " ") {
			t.Errorf("%s: in an empty file it is\n%s", c.format, fresh)
		}
		if out, err := d.SetRaw(c.path, []byte("1, x: [")); err == nil {
			t.Errorf("%s: what is no entry makes\n%s", c.format, out)
		}
	}
}
