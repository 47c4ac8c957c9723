package clientcfg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/config"
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

// TestAdoptedSecrets holds that a client's dialect has secrets in a file of codemode's own, and there alone.
func TestAdoptedSecrets(t *testing.T) {
	const ref = "${secret:gh.Authorization}"
	resolver := Resolver{
		OS: "linux", Lookup: func(name string) (string, bool) { return "outside", name == "VAR" },
		Secret: func(name string) (string, error) { return "hush-" + name, nil },
	}
	for _, d := range []config.Dialect{
		config.DialectNone, config.DialectBraces, config.DialectEnvColon, config.DialectDollar,
		config.DialectLeadingDollar, config.DialectCurly, config.DialectSecrets,
	} {
		for _, of := range []config.Dialect{d, d.Adopted(), d.Adopted().Adopted()} {
			s, err := Expand(config.Server{
				Dialect: of, Env: map[string]string{"A": ref}, Headers: map[string]string{"B": "Bearer " + ref},
			}, resolver)
			want := ref
			if of != d {
				want = "hush-gh.Authorization"
			}
			if err != nil || s.Env["A"] != want || s.Headers["B"] != "Bearer "+want {
				t.Errorf("%s: %v, %v, %v", of, s.Env, s.Headers, err)
			}
		}
	}
	s, err := Expand(config.Server{
		Dialect: config.DialectEnvColon.Adopted(), Env: map[string]string{"A": "${env:VAR}" + ref + "${VAR}${env:VAR}"},
	}, resolver)
	if want := "outsidehush-gh.Authorization${VAR}outside"; err != nil || s.Env["A"] != want {
		t.Errorf("%q, %v", s.Env["A"], err)
	}
	project := config.Server{Dialect: config.DialectBraces.Adopted(), Project: "/p", Env: map[string]string{"A": ref}}
	if _, err := Expand(project, resolver); err == nil {
		t.Error("a project's entry got a secret")
	}
}
