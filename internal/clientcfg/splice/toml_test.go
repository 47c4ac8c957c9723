package splice_test

import (
	"strings"
	"testing"

	"codemode/internal/clientcfg/splice"
)

var table = []string{"mcp_servers", "codemode"}

const codex = `model   =  "gpt-5"   # inline

# mcp section
[mcp_servers.alpha]
command = "npx"                # why
args = [
    "-y",   # yes
    "alpha",
]
startup_timeout_sec = 30

    [mcp_servers.alpha.env]
    KEY = 'v'

[[hooks]]
x = 1_000
d = 1979-05-27T07:32:00Z
s = """
[mcp_servers.codemode]
not a table
"""
# end note
`

const codexEntry = "[mcp_servers.codemode]\ncommand = \"/opt/homebrew/bin/codemode\"\nargs = [\"serve\"]\n"

func TestSetTOML(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"23 full", codex, codex + "\n" + codexEntry},
		{"23 CRLF", crlf(codex), crlf(codex + "\n" + codexEntry)},
		{"byte order mark", mark + codex, mark + codex + "\n" + codexEntry},
		{"empty", "", codexEntry},
		{"only a comment", "# nothing\n", "# nothing\n\n" + codexEntry},
		{"no final newline", "model = \"x\"", strings.TrimSuffix("model = \"x\"\n\n"+codexEntry, "\n")},
		{"24 others with dots", "mcp_servers.a.command = \"x\"\n", "mcp_servers.a.command = \"x\"\n\n" + codexEntry},
		{"24 others inline", "[mcp_servers]\na = {command=\"x\"}\n", "[mcp_servers]\na = {command=\"x\"}\n\n" + codexEntry},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := set(t, c.in, splice.TOML, table, entry)
			if out != c.want {
				t.Fatalf("set gives\n%s\nnot\n%s", out, c.want)
			}
			if back := remove(t, out, splice.TOML, true, table...); back != c.in && back != c.in+"\n" {
				t.Fatalf("remove gives\n%q\nnot\n%q", back, c.in)
			}
		})
	}
}
