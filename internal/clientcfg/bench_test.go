package clientcfg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manyServers lays out a home with 100 servers in 12 files.
func manyServers(t testing.TB) Options {
	home := t.TempDir()
	n := 0
	put := func(name, before, each, between, after string, count int) {
		var all []string
		for range count {
			n++
			all = append(all, strings.ReplaceAll(each, "N", fmt.Sprint(n)))
		}
		file := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(before+strings.Join(all, between)+after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const entry = `"server-N": {"command": "npx", "args": ["-y", "@scope/server-N", "--flag"], "env": {"TOKEN": "${HOME}"}}`
	for _, name := range []string{
		".claude.json", ".cursor/mcp.json", ".config/Claude/claude_desktop_config.json", ".gemini/settings.json", ".codeium/windsurf/mcp_config.json",
		".kiro/settings/mcp.json", ".copilot/mcp-config.json", "MCPs/one.json", "MCPs/two.json",
	} {
		put(name, `{"mcpServers": {`, entry, ",\n", "}}\n", 9)
	}
	put(".config/Code/User/mcp.json", "// mine\n{\"servers\": {", entry, ",\n", "}}\n", 7)
	put(
		".codex/config.toml", "", "[mcp_servers.server-N]\ncommand = \"npx\"\nargs = [\"-y\", \"@scope/server-N\"]\n",
		"\n", "", 6,
	)
	put(
		".config/goose/config.yaml", "extensions:\n",
		"  server-N: {type: stdio, cmd: npx, args: [-y, \"@scope/server-N\"], enabled: true}\n", "", "", 6,
	)
	opts := Options{Env: Env{OS: "linux", Home: home, WorkDir: filepath.Join(home, "work", "api")}}
	opts.Env.Lookup = func(name string) (string, bool) { return "x", name == "HOME" }
	opts.Servers.Dir = filepath.Join(home, "MCPs")
	if err := os.MkdirAll(filepath.Join(opts.Env.WorkDir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	return opts
}

func BenchmarkDiscover(b *testing.B) {
	opts := manyServers(b)
	for b.Loop() {
		if found := Discover(opts); len(found.Servers) != 100 || len(found.Problems) != 0 {
			b.Fatal(len(found.Servers), found.Problems)
		}
	}
}

func BenchmarkDiscoverNothing(b *testing.B) {
	opts := Options{Env: Env{OS: "linux", Home: b.TempDir()}}
	for b.Loop() {
		if found := Discover(opts); found.Entries != nil {
			b.Fatal(found)
		}
	}
}

// BenchmarkLargeFile is a ~/.claude.json of 40 MiB, nearly all of it history.
func BenchmarkLargeFile(b *testing.B) {
	home := b.TempDir()
	text := `{"history": [` + strings.Repeat(
		`{"display": "what I once asked {[ \" ", "n": 1},`,
		40<<20/50,
	) + `0], "mcpServers": {"a": {"command": "x"}}}`
	if err := os.WriteFile(filepath.Join(home, ".claude.json"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	opts := Options{Env: Env{OS: "linux", Home: home}}
	for b.Loop() {
		if found := Discover(opts); len(found.Servers) != 1 {
			b.Fatal(found)
		}
	}
}
