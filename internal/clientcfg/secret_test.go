package clientcfg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingSaysASecret puts a secret wherever a mistake in a file could make somebody quote it.
func TestNothingSaysASecret(t *testing.T) {
	const secret = "s3cr3tOfMine99"
	for name, texts := range map[string][]string{
		".gemini/settings.json": {
			`{"mcpServers": {"a": {"command": "x", "env": {"K": SECRET}}}}`,
			`{"mcpServers": {"a": {"command": "x", "env": {"K": "\xSECRET"}}}}`,
			`{"mcpServers": {"a": {"command": "x", "env": {"K": 'SECRET'}}}}`,
			`{"mcpServers": {"a": {"command": "x", "env": {"K": "SECRET}}}}`,
			`{"mcpServers": {"a": {"command": "x", "env": "SECRET", "args": {"SECRET": 1}}}}`,
			`{"mcpServers": {"a": {"command": "x", "args": "SECRET"}}}`,
			`{"mcpServers": {"a": {"command": "x", "env": {"K": ["SECRET"]}}}}`,
			`{"mcpServers": {"a": {"command": ["SECRET", {}]}}}`,
			`{"mcpServers": {"a": {"url": "SECRET"}, "b": {"url": "SECRET://x"}, "c": {"url": 3, "headers": "SECRET"}}}`,
			`{"mcpServers": {"a": {"url": "https://x/?k=SECRET", "headers": {"K": ["SECRET"]}}}}`,
			`{"mcpServers": {"a": {"command": "$(echo SECRET)"}}}`,
			`{"mcpServers": {"a": {"command": "x", "cwd": ["SECRET"], "disabled": "SECRET"}}}`,
			`{"mcpServers": "SECRET"}`, `"SECRET"`, `SECRET`,
		},
		".codex/config.toml": {
			"[mcp_servers.a]\ncommand = SECRET\n", "[mcp_servers.a]\ncommand = \"SECRET\n", "[mcp_servers.a]\nenv = {K = SECRET}\n",
			"[mcp_servers.a]\nenv = {K = \"\\SECRET\"}\n", "[mcp_servers.a]\nenv = {K = 2026-99-99SECRET}\n", "[mcp_servers.a]\nenv = {K = 99SECRET}\n",
			"[mcp_servers.a]\nbearer_token = \"SECRET\"\nurl = \"https://x\"\n", "[mcp_servers.a]\ncommand = \"x\" SECRET\n",
		},
		".config/goose/config.yaml": {
			"extensions:\n  a: {cmd: x, envs: {K: *SECRET}}\n", "extensions:\n  a: {cmd: x, envs: {K: \"SECRET}}\n", "extensions:\n  a: {cmd: x, envs: {K: !SECRET x: y}}\n",
			"extensions:\n  a: {cmd: x, envs: {K: \"\\SECRET\"}}\n", "extensions:\n  a: {cmd: x, envs: SECRET}\n", "extensions:\n  K: @SECRET\n", "extensions:\n  K: %SECRET\n",
			"extensions:\n  a: {cmd: x, args: SECRET}\n  b: SECRET\n", "extensions: SECRET: SECRET\n",
		},
	} {
		for _, text := range texts {
			home := t.TempDir()
			file := filepath.Join(home, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, file, strings.ReplaceAll(text, "SECRET", secret))
			found := Discover(Options{Env: Env{OS: "linux", Home: home}})
			said := 0
			check := func(what any) {
				said++
				if strings.Contains(fmt.Sprintf("%v", what), secret) {
					t.Errorf("%s: %s: said: %v", name, text, what)
				}
			}
			for _, p := range found.Problems {
				check(p.Error())
			}
			for _, e := range found.Entries {
				check(e.Reason)
				check(e.Notes)
				check(Masked(e.Server).Env)
				check(Masked(e.Server).URL)
				check(e.Server.String())
				check(e.Server.LogValue())
				check(e.key)
			}
			if said == 0 {
				t.Errorf("%s: %s: neither a server nor a problem", name, text)
			}
		}
	}
}
