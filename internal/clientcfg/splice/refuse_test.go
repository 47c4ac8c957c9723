package splice_test

import (
	"strings"
	"testing"

	"codemode/internal/clientcfg/splice"
)

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name         string
		format       splice.Format
		path         []string
		in           string
		line, column int
		reason       string
	}{
		{"13 comment", splice.JSON, servers, "{\n  // note\n  \"mcpServers\": {}\n}\n", 2, 3, "rejects comments"},
		{"13 trailing comma", splice.JSON, servers, "{\n  \"a\": [1,]\n}\n", 2, 10, "rejects comments"},
		{"8 only a comment", splice.JSON, servers, "// nothing\n", 1, 1, "rejects comments"},
		{"14 cut off", splice.JSON, servers, `{"mcpServers": {`, 1, 17, "it ends"},
		{"14 merge markers", splice.JSON, servers, "<<<<<<< HEAD\n{}\n", 1, 1, "'<' at start of value"},
		{"14 two values", splice.JSONC, servers, "{} {}", 1, 4, "behind the end"},
		{"14 single quotes", splice.JSONC, servers, "{'é': 1}", 1, 2, "invalid character"},
		{"14 bad escape", splice.JSON, servers, `{"é": "\x"}`, 1, 8, "backslash"},
		{"14 bad number", splice.JSON, servers, `{"a": 01}`, 1, 8, "expecting ','"},
		{"14 open comment", splice.JSONC, servers, "{} /* ", 1, 4, "invalid character"},
		{"14 too deep", splice.JSON, servers, strings.Repeat("[", 10_001), 1, 10_001, "max depth"},
		{"15 null", splice.JSON, servers, `{"mcpServers":null}`, 1, 15, `"mcpServers" is not an object`},
		{"15 list", splice.JSON, servers, `{"mcpServers":[]}`, 1, 15, `"mcpServers" is not an object`},
		{"15 text", splice.JSON, servers, `{"mcpServers":"x"}`, 1, 15, `"mcpServers" is not an object`},
		{"15 the document", splice.JSON, servers, `[]`, 1, 1, "the document is not an object"},
		{"15 the entry", splice.JSON, servers, `{"mcpServers":{"codemode":null}}`, 1, 27, "is not an object"},
		{"16 container twice", splice.JSON, servers, `{"mcpServers":{"a":{}},"mcpServers":{"b":{}}}`, 1, 24, "twice"},
		{"16 entry twice", splice.JSON, servers, `{"mcpServers":{"codemode":{},"codemod\u0065":{}}}`, 1, 30, "twice"},
		{"16 key twice", splice.JSON, servers, `{"mcpServers":{"codemode":{"args":[],"args":[]}}}`, 1, 38, "twice"},
		{"42 UTF-16", splice.JSON, servers, "\xff\xfe{\x00}\x00", 0, 0, "UTF-16"},
		{"42 Latin-1", splice.YAML, extension, "a: b\nc: d\xe9\n", 2, 5, "not UTF-8"},

		{"24 inline", splice.TOML, table, "mcp_servers = { a = {command=\"x\"} }\n", 1, 1, "[mcp_servers.codemode]"},
		{"24 dots", splice.TOML, table, "mcp_servers.codemode.command = \"x\"\n", 1, 1, "[mcp_servers.codemode]"},
		{"24 inline entry", splice.TOML, table, "[mcp_servers]\ncodemode = {command=\"x\"}\n", 2, 1, "[mcp_servers.codemode]"},
		{"27 list", splice.TOML, table, "[[mcp_servers]]\nname = \"a\"\n", 1, 1, "does not go together"},
		{"27 no list", splice.TOMLArray, table, "\n[mcp_servers]\nname = \"a\"\n", 2, 1, "does not go together"},
		{"27 inline list", splice.TOMLArray, table, "mcp_servers = [{name = \"a\"}]\n", 1, 1, "[[mcp_servers]]"},
		{"27 entry twice", splice.TOMLArray, table, "[[mcp_servers]]\nname = \"codemode\"\n[[mcp_servers]]\nname = \"codemode\"\n", 3, 1, "twice"},
		{"no TOML", splice.TOML, table, "[mcp_servers.a\n", 1, 15, "not TOML"},
		{"table twice", splice.TOML, table, "[a]\nx=1\n[a]\ny=1\n", 3, 2, "not TOML"},
		{"key with dots in the entry", splice.TOML, table, "[mcp_servers.codemode]\nargs.x = 1\n", 1, 1, "change it by hand"},

		{"29 braces", splice.YAML, extension, "extensions: {a: {type: stdio}}\n", 1, 13, "braces"},
		{"29 list", splice.YAML, extension, "extensions:\n  - a\n", 2, 3, "not a mapping"},
		{"29 text", splice.YAML, extension, "extensions: x\n", 1, 13, "not a mapping"},
		{"29 the document", splice.YAML, extension, "- a\n", 1, 1, "the document is not a mapping"},
		{"several documents", splice.YAML, extension, "a: 1\n---\nb: 1\n", 0, 0, "more than one document"},
		{"anchor", splice.YAML, extension, "extensions: &x\n  a: {}\nb: *x\n", 1, 1, "anchor"},
		{"alias", splice.YAML, extension, "b: &x\n  a: {}\nextensions: *x\n", 3, 1, "anchor"},
		{"explicit key", splice.YAML, extension, "? extensions\n: a: {}\n", 1, 3, "not edited"},
		{"key twice", splice.YAML, extension, "extensions:\nextensions:\n", 2, 1, "twice"},
		{"no YAML", splice.YAML, extension, "a: b: c\n", 0, 0, "not YAML"},
		{"old line ends", splice.YAML, extension, "a: 1\rb: 2\r", 1, 5, "LF or CRLF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := refused(t, c.in, c.format, c.path)
			if err.Line != c.line || err.Column != c.column || !strings.Contains(err.Reason, c.reason) {
				t.Errorf("it is refused with %v", err)
			}
		})
	}
	if _, err := splice.Parse(make([]byte, splice.MaxSize+1), splice.JSON); err == nil ||
		!strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("a file that is too large is refused with %v", err)
	}
}

// TestUpdate changes what is given and nothing else of an entry.
func TestUpdate(t *testing.T) {
	more := append(entry[:2:2], splice.Member{Key: "env", Value: []splice.Member{{Key: "A", Value: "1"}}})
	for _, c := range []struct {
		name     string
		format   splice.Format
		entry    []splice.Member
		in, want string
	}{
		{
			"18 path", splice.JSONC, entry,
			"{ \"mcpServers\": {\n    \"codemode\": {\n      // mine\n      \"command\": \"/old/codemode\",\n      \"args\": [\"serve\"], \"env\": { \"X\": \"1\" } // keep\n    } } }\n",
			"{ \"mcpServers\": {\n    \"codemode\": {\n      // mine\n      \"command\": \"/opt/homebrew/bin/codemode\",\n      \"args\": [\"serve\"], \"env\": { \"X\": \"1\" } // keep\n    } } }\n",
		},
		{
			"17 order and spaces", splice.JSON, entry,
			"{\"mcpServers\":{\"codemode\":{\"args\":[ \"serve\" ],\"command\":\"/opt\\/homebrew/bin/codemode\"}}}",
			"{\"mcpServers\":{\"codemode\":{\"args\":[ \"serve\" ],\"command\":\"/opt\\/homebrew/bin/codemode\"}}}",
		},
		{
			"keys behind the last on its line", splice.JSONC, more,
			"{\n  \"mcpServers\": {\n    \"codemode\": { \"command\": \"/opt/homebrew/bin/codemode\", \"env\": {} } // keep\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"codemode\": { \"command\": \"/opt/homebrew/bin/codemode\", \"env\": {\n      \"A\": \"1\"\n    }, \"args\": [\"serve\"] } // keep\n  }\n}\n",
		},
		{
			"comments of a value", splice.JSONC, entry,
			"{\"mcpServers\": {\n  \"codemode\": {\n    \"command\": /* a */ \"x\",\n    \"args\": [\n      // b\n      \"old\", /* c */\n    ],\n  },\n}}\n",
			"{\"mcpServers\": {\n  \"codemode\": {\n    \"command\": /* a */ \"/opt/homebrew/bin/codemode\",\n    \"args\": // b\n    /* c */ [\"serve\"],\n  },\n}}\n",
		},
		{
			"25 TOML", splice.TOML, more,
			"[mcp_servers.codemode] # mine\n  command = \"/old\" # path\n\n[mcp_servers.codemode.env]\nB = \"2\"\n\n# about beta\n[mcp_servers.beta]\ncommand = 'b'\n",
			"[mcp_servers.codemode] # mine\n  command = \"/opt/homebrew/bin/codemode\" # path\n  args = [\"serve\"]\n\n[mcp_servers.codemode.env]\nB = \"2\"\nA = \"1\"\n\n# about beta\n[mcp_servers.beta]\ncommand = 'b'\n",
		},
		{
			"TOML inline", splice.TOML, more,
			"[mcp_servers.codemode]\nargs = [ 'serve', ] # same\nenv = { B = \"2\", A = '0' }",
			"[mcp_servers.codemode]\nargs = [ 'serve', ] # same\nenv = { B = \"2\", A = \"1\" }\ncommand = \"/opt/homebrew/bin/codemode\"",
		},
		{
			"TOML comments of a value", splice.TOML, entry,
			"[mcp_servers.codemode]\n  args = [\n    # a\n    'x', # b\n  ] # c\n",
			"[mcp_servers.codemode]\n  # a\n  # b\n  args = [\"serve\"] # c\n  command = \"/opt/homebrew/bin/codemode\"\n",
		},
		{
			"TOML table before its entry", splice.TOML, entry,
			"[mcp_servers.codemode.env]\nA = '1'\n",
			"[mcp_servers.codemode.env]\nA = '1'\n\n" + codexEntry,
		},
		{
			"27 TOML array", splice.TOMLArray, more,
			"[[mcp_servers]]\nname = \"a\"\n\n[[mcp_servers]]\ncommand = \"x\"\nname = 'codemode' # us\n[mcp_servers.env]\nA = '0'\n",
			"[[mcp_servers]]\nname = \"a\"\n\n[[mcp_servers]]\ncommand = \"/opt/homebrew/bin/codemode\"\nname = 'codemode' # us\nargs = [\"serve\"]\n[mcp_servers.env]\nA = \"1\"\n",
		},
		{
			"27 TOML array that is empty", splice.TOMLArray, entry,
			"model = 'x'\nmcp_servers = []\n", "model = 'x'\n\n[[mcp_servers]]\nname = \"codemode\"\ncommand = \"/opt/homebrew/bin/codemode\"\nargs = [\"serve\"]\n",
		},
		{
			"YAML", splice.YAML, more,
			"mcp_servers:\n  codemode:\n    # mine\n    command: /old   # path\n    args:\n      - serve # a\n    env: {}\n\n    timeout: 1\n  b: {}\n",
			"mcp_servers:\n  codemode:\n    # mine\n    command: \"/opt/homebrew/bin/codemode\"   # path\n    args:\n      - serve # a\n    env:\n      A: \"1\"\n\n    timeout: 1\n  b: {}\n",
		},
		{
			"YAML values on lines", splice.YAML, entry,
			"mcp_servers:\n  codemode:\n    command: >\n      /old\n      path\n\n    args: # a\n      - old # b\n      # c\n      - older\n  # about b\n  b: {}\n",
			"mcp_servers:\n  codemode:\n    command: \"/opt/homebrew/bin/codemode\"\n\n    # a\n    # b\n    # c\n    args: [\"serve\"]\n  # about b\n  b: {}\n",
		},
		{
			"YAML null", splice.YAML, entry,
			"mcp_servers:\n  codemode: # us\n  b:\n", "mcp_servers:\n  codemode: # us\n    command: \"/opt/homebrew/bin/codemode\"\n    args: [\"serve\"]\n  b:\n",
		},
		{
			"YAML braces that have it all", splice.YAML, entry,
			"mcp_servers:\n  codemode: {args: [serve], command: /opt/homebrew/bin/codemode, x: 1}\n",
			"mcp_servers:\n  codemode: {args: [serve], command: /opt/homebrew/bin/codemode, x: 1}\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := table
			if c.format == splice.JSON || c.format == splice.JSONC {
				path = servers
			}
			if out := set(t, c.in, c.format, path, c.entry); out != c.want {
				t.Errorf("set gives\n%s\nnot\n%s", out, c.want)
			}
		})
	}
}

func TestWindowsPaths(t *testing.T) {
	windows := []splice.Member{{Key: "command", Value: `C:\Users\Jörg\bin\codemode.exe`}}
	for f, want := range map[splice.Format]string{
		splice.JSON: `"C:\\Users\\Jörg\\bin\\codemode.exe"`, splice.YAML: `"C:\\Users\\Jörg\\bin\\codemode.exe"`,
		splice.TOML: `'C:\Users\Jörg\bin\codemode.exe'`, splice.TOMLArray: `'C:\Users\Jörg\bin\codemode.exe'`,
	} {
		if out := set(t, "", f, table, windows); !strings.Contains(out, want) {
			t.Errorf("%s: it is written\n%s", f, out)
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{
		"a.b", `a"b`, "a'b", `a\b`, "é 🚀", "", "with space", "true", "1", "null", "~", "a: b", "# a", "- a",
		"__proto__", strings.Repeat("n", 300), "line\nend", "\x7f",
	} {
		for _, f := range []splice.Format{splice.JSON, splice.JSONC, splice.TOML, splice.TOMLArray, splice.YAML} {
			path := []string{"a.servers", name}
			out := set(t, "", f, path, entry)
			d, err := splice.Parse([]byte(out), f)
			if err != nil {
				t.Fatalf("%s %q: %v", f, name, err)
			}
			if names, err := d.Entries(path[:1]); err != nil || len(names) != 1 || names[0] != name {
				t.Errorf("%s: entries of %q are %q: %v", f, name, names, err)
			}
			again := set(t, out, f, []string{"a.servers", "other"}, entry)
			if back := remove(t, again, f, false, "a.servers", "other"); back != out {
				t.Errorf("%s %q: remove gives\n%s\nnot\n%s", f, name, back, out)
			}
		}
	}
}
