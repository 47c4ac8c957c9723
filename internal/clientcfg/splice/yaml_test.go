package splice_test

import (
	"testing"

	"codemode/internal/clientcfg/splice"
)

var (
	extension  = []string{"extensions", "codemode"}
	gooseEntry = []splice.Member{
		{Key: "enabled", Value: true},
		{Key: "type", Value: "stdio"},
		{Key: "cmd", Value: "/opt/homebrew/bin/codemode"},
		{Key: "args", Value: []string{"serve"}},
		{Key: "timeout", Value: 300},
		{Key: "envs", Value: []splice.Member{}},
	}
)

const goose = `# my goose
GOOSE_PROVIDER: anthropic   # keep

extensions:
  developer: {bundled: true, enabled: true, type: builtin, name: developer}

  # github tools
  github:
    type: stdio
    cmd: npx
    args: ["-y", "@modelcontextprotocol/server-github"]
    description: |
      two
      # lines
    enabled: true
  web: {type: streamable_http, uri: "https://x/mcp", enabled: false}
  legacy: {type: sse, uri: "https://x/sse"}
# footer
GOOSE_MODE: smart_approve
`

// gooseLines is how the entry is written.
func gooseLines(indent, step string) string {
	in := indent + step
	return indent + "codemode:\n" + in + "enabled: true\n" + in + "type: \"stdio\"\n" + in + "cmd: \"/opt/homebrew/bin/codemode\"\n" +
		in + "args: [\"serve\"]\n" + in + "timeout: 300\n" + in + "envs: {}\n"
}

func TestSetYAML(t *testing.T) {
	const two = "  "
	lines := gooseLines(two, two)
	full := goose[:len(goose)-len("# footer\nGOOSE_MODE: smart_approve\n")] + lines + "# footer\nGOOSE_MODE: smart_approve\n"
	for _, c := range []struct {
		name, in, want string
		once           bool
	}{
		{"28 full", goose, full, false},
		{"29 CRLF", crlf(goose), crlf(full), false},
		{"29 byte order mark", mark + goose, mark + full, false},
		{"29 empty mapping", "extensions: {}  # none\nx: 1\n", "extensions:  # none\n" + lines + "x: 1\n", false},
		{"29 null", "x: 1\nextensions:\n", "x: 1\nextensions:\n" + lines, true},
		{"29 written null", "extensions: ~ # none\nx: 1", "extensions: # none\n" + lines + "x: 1", true},
		{"29 four spaces", "extensions:\n    a:\n        type: stdio\n", "extensions:\n    a:\n        type: stdio\n" + gooseLines("    ", "    "), false},
		{"29 four spaces elsewhere", "a:\n    b: 1\nextensions: {}\n", "a:\n    b: 1\nextensions:\n" + gooseLines("    ", "    "), false},
		{"empty", "", "extensions:\n" + lines, true},
		{"only a comment", "# hi\n", "# hi\nextensions:\n" + lines, false},
		{"only a marker", "---\n", "---\nextensions:\n" + lines, false},
		{"an end", "---\na: 1\n...\n", "---\na: 1\nextensions:\n" + lines + "...\n", false},
		{"no key, no final newline", "GOOSE_MODE: x", "GOOSE_MODE: x\nextensions:\n" + lines[:len(lines)-1], false},
		{"null with a comment inside", "extensions:\n  # none yet\nx: 1\n", "extensions:\n  # none yet\n" + lines + "x: 1\n", true},
		{"kept line ends", "extensions:\n  a:\n    d: |+\n      x\n\nx: 1\n", "extensions:\n  a:\n    d: |+\n      x\n\n" + lines + "x: 1\n", false},
		{"indented root", "  extensions:\n    a: {}\n", "  extensions:\n    a: {}\n" + gooseLines("    ", two), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := set(t, c.in, splice.YAML, extension, gooseEntry)
			if out != c.want {
				t.Fatalf("set gives\n%s\nnot\n%s", out, c.want)
			}
			had, _ := splice.Parse([]byte(c.in), splice.YAML)
			names, _ := had.Entries(extension[:1])
			if back := remove(t, out, splice.YAML, names == nil, extension...); !c.once && back != c.in {
				t.Fatalf("remove gives\n%s\nnot\n%s", back, c.in)
			}
		})
	}
}

// TestKeptLines removes what stands between a text that keeps the empty lines behind it and other empty lines.
func TestKeptLines(t *testing.T) {
	for _, src := range []string{
		"t: |+\n  foo\n\n\nextensions:\n  codemode:\n    cmd: x\n\nadded: 1\n",
		"extensions:\n  a:\n    t: >+\n      foo\n\n  codemode:\n    cmd: x\n\n  b: {}\n",
		"t: |+\n  foo\nextensions:\n  codemode:\n    cmd: x\n  \n\n",
	} {
		for _, prune := range []bool{false, true} {
			d := parsed(t, splice.YAML, src)
			if _, err := d.Remove([]string{"extensions", "codemode"}, prune); err != nil {
				t.Errorf("%q, prune %v: %v", src, prune, err)
			}
		}
	}
}
