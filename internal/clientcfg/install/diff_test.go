package install

import (
	"strings"
	"testing"

	"codemode/internal/clientcfg"
	"codemode/internal/redact"
)

// TestSecretsAreMasked is sample 48: of what a dry run shows, no token can be read, in any format.
func TestSecretsAreMasked(t *testing.T) {
	for id, text := range map[string]string{
		"cursor": `{"mcpServers": {"gh": {"command": "x", "args": ["--token", "s3cret-a1b2c3"], "env": {"K": "s3cret \"quoted\""}}}}`,
		"codex":  "[mcp_servers.a]\ncommand = 'x'\nargs = ['--api-key=s3cret-a1b2c3']\n\n[mcp_servers.a.env]\nK = 's3cret-value'\n",
		"vscode": "{\n  \"servers\": {\n    \"a\": {\"command\": \"x\", \"env\": {\n      // \"TOKEN\": \"s3cret-commented\"\n" +
			"      /* Authorization: Bearer s3cret-a1b2c3d4\n       password: s3cret-below */\n      \"TOKEN\": \"s3cret-value\"}}\n  }\n}\n",
		"goose": "extensions:\n  a:\n    type: stdio\n    cmd: x\n    envs:\n      # GH_TOKEN: s3cret-commented\n      K: s3cret-value\n",
		"gemini": `{"mcpServers": {"gh": {"command": "x", "args": ["--token", "s3cret-args-1"], "env": {"K": "s3cret-first"}},
  "\u0067h": {"command": "x", "env": {"K": "s3cret\u002de", "K": "s3cret-later"}, "env": {"K": "s3cret \u0022x"}}}}`,
		"grok": "[mcp_servers.a]\ncommand = 'x'\nargs = ['--token', \"s3cret\\u002dx9\"]\nenv = { A = \"s3cret\\u002dx9\", B = \"\"\"a\\\n  s3cret-b\"\"\" }\n",
		"hermes": "mcp_servers:\n  a:\n    command: x\n    env:\n      A: >-\n        some\n        s3cret-a\n      B: some\n        s3cret-b\n" +
			"      C: \"a\\\n        s3cret-c\"\n      D: 'it''s\n        s3cret-d'\n      E: !!str some\n        s3cret-e\n" +
			"  b: {command: x, env: {A: some\n    s3cret-f, B: \"some\n    s3cret-g\"}}\n",
		"claude-code": `{"oauthAccount": {"token": "s3cret-value"}, "mcpServers": {"a": {"type": "http", "url": "https://x/?key=s3cretvalue", "headers": {"Authorization": "Bearer s3cret-value"}}}}`,
	} {
		root := t.TempDir()
		i := newInstaller(root)
		req := Request{Client: client(t, id), Scope: clientcfg.User, Name: DefaultName, DryRun: true}
		targets, err := i.Targets(req)
		if err != nil {
			t.Fatal(err)
		}
		write(t, targets[0].Path, text)
		r := i.Install(t.Context(), req)[0]
		if r.Action != Installed || !strings.Contains(r.Diff, "codemode") || !strings.Contains(r.Diff, redact.Mask) {
			t.Errorf("%s: %+v", id, r)
		}
		if strings.Contains(r.Diff, "s3cret") {
			t.Errorf("%s: %s", id, r.Diff)
		}
		if read(t, targets[0].Path) != text || exists(i.State) {
			t.Errorf("%s: a dry run has written", id)
		}
	}
}
