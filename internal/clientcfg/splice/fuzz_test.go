package splice_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"codemode/internal/clientcfg/splice"
	"codemode/internal/clientcfg/splice/splicetest"
)

// seeds are samples of a family, whole ones and such as are refused.
var seeds = map[splice.Format][]string{
	splice.JSONC: {
		"",
		"// nothing\n",
		`{"mcpServers":{"a":{},"codemode":{"command":"x","args":[/* a */]}}}`,
		`{"mcpServers":{"a":{}},"mcpServers":{"b":{}}}`,
		"// team\n{\n\t\"mcpServers\": {\n\t\t\"gh\": { \"x\": 1e3 }, // remote\n\t\t/* \"old\": {} */\n\t},\n}\n",
		mark + "{}",
		"{\"a\": \"\\ud83d\"}",
		"{ \"mcpServers\": { \"a\": {}, // tail\n \"codemode\": {} } }",
		`{"mcpServers":{"a":"http://x", "codemode":1}}`,
		"[1,]",
		"{,}",
		"{\"a\":-}",
		"/",
	},
	splice.TOML: {
		codex, "[mcp_servers]\ncodemode = {command=\"x\"}\n", "mcp_servers.a.command = \"x\"\n",
		"[[mcp_servers]]\nname = 'a'\n[mcp_servers.env]\n",
		"[mcp_servers.codemode]\nargs = [ # a\n]\n[mcp_servers.codemode.env]\nenv.K = 1\n# b", "mcp_servers = []",
		"[mcp_servers.codemode]\nenv = { A = { B = 1 } }", "[\"mcp_servers\" . 'codemode']\r\na = '''\r\n'''",
		"a = nan\n[a]]", "[[a.b]]\n[a.b.c]\n[[a.b]]\n",
	},
	splice.YAML: {
		goose, "extensions: {}  # none\n", "extensions:\n", "? extensions\n: codemode: 1\n",
		"extensions:\n    codemode: &x {a: *x}\n", "--- # a\n...\n", "extensions:\n  codemode: |+\n    # a\n\n",
		"extensions:\n  codemode:\n  - a\n  # b\n", "extensions: !!map\n  a: 1\n", "{extensions: {}}",
		"a: \"x\n # y\"\nextensions: null", "extensions:\n  <<: {a: 1}\n  codemode: 'x'''\n", "extensions: [\n", "\t",
		"&a a: *a\n", "- extensions",
	},
}

func FuzzJSON(f *testing.F) { fuzz(f, "JSONC", splice.JSON, splice.JSONC) }
func FuzzTOML(f *testing.F) { fuzz(f, "TOML", splice.TOML, splice.TOMLArray) }
func FuzzYAML(f *testing.F) { fuzz(f, "YAML", splice.YAML) }

// fuzz holds that a text is refused, or edited as asked. That nothing else changes is for the package itself to
// see: it says so by an error that is no refusal.
func fuzz(f *testing.F, made string, formats ...splice.Format) {
	for _, format := range formats {
		for _, text := range seeds[format] {
			f.Add([]byte(text), "mcpServers", "codemode")
		}
	}
	for seed := range uint64(20) {
		d := splicetest.Families[made](seed)
		f.Add([]byte(d.Text), d.Container[0], "codemode")
	}
	f.Fuzz(func(t *testing.T, src []byte, container, name string) {
		for _, format := range formats {
			fuzzed(t, src, format, []string{strings.ToValidUTF8(container, ""), strings.ToValidUTF8(name, "")})
		}
	})
}

func fuzzed(t *testing.T, src []byte, format splice.Format, path []string) {
	d, err := splice.Parse(src, format)
	if err != nil {
		isRefusal(t, "parse", err)
		return
	}
	names, err := d.Entries(path[:1])
	isRefusal(t, "entries", err)
	d.Get(path)
	for _, x := range d.Texts() {
		if strings.Trim(string(src[x.Start:x.End]), " \t\r\n\"'") == "" && strings.Trim(x.Value, " \r\n\"'") != "" {
			t.Errorf("nothing stands where %q should", x.Value)
		}
	}
	more := append(entry[:2:2], splice.Member{Key: "env", Value: []splice.Member{{Key: "A", Value: "1"}}})
	out, err := d.Set(path, more)
	if isRefusal(t, "set", err); err == nil {
		d := parsed(t, format, string(out))
		if again := must(t)(d.Set(path, more)); again != string(out) {
			t.Errorf("setting again makes %q of %q", again, out)
		}
		_, err := d.Remove(path, true)
		isRefusal(t, "remove", err)
	}
	if raw, ok := d.Raw(path); ok {
		out, err := d.SetRaw(path, raw)
		if isRefusal(t, "put back", err); err == nil && !reflect.DeepEqual(out, src) &&
			!strings.HasPrefix(string(src), mark) {
			t.Errorf("putting back makes %q of %q", out, src)
		}
	}
	_, err = d.RemoveAll(path[:1], names, true)
	isRefusal(t, "remove all", err)
	_, err = d.Drop(path, "command", "env")
	isRefusal(t, "drop", err)
}

func isRefusal(t *testing.T, what string, err error) {
	t.Helper()
	var re *splice.RefusedError
	if err != nil && !errors.As(err, &re) {
		t.Errorf("%s: %v", what, err)
	}
}
