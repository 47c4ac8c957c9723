package install

import (
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/clientcfg"
)

// TestTargetsOnEverySystem is where codemode is put into a client that has no file yet.
func TestTargetsOnEverySystem(t *testing.T) {
	const mac = "/Users/a/Library/Application Support"
	const roaming, local = "/Users/a/AppData/Roaming", "/Users/a/AppData/Local"
	same := func(path string) [3]string {
		return [3]string{"/home/a/" + path, "/Users/a/" + path, "/Users/a/" + path}
	}
	config := func(path string) [3]string {
		return [3]string{"/home/a/.config/" + path, mac + "/" + path, roaming + "/" + path}
	}
	xdg := func(path, windows string) [3]string {
		return [3]string{"/home/a/.config/" + path, "/Users/a/.config/" + path, windows}
	}
	wants := map[string][3]string{
		"claude-code":    same(".claude.json"),
		"claude-desktop": config("Claude/claude_desktop_config.json"),
		"cursor":         same(".cursor/mcp.json"),
		"vscode":         config("Code/User/mcp.json"),
		"codex":          same(".codex/config.toml"),
		"gemini":         same(".gemini/settings.json"),
		"opencode":       same(".config/opencode/opencode.jsonc"),
		"windsurf":       same(".codeium/windsurf/mcp_config.json"),
		"devin":          xdg("devin/mcp_config.json", roaming+"/devin/mcp_config.json"),
		"zed":            xdg("zed/settings.json", roaming+"/Zed/settings.json"),
		"cline":          same(".cline/data/settings/cline_mcp_settings.json"),
		"roo":            config("Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
		"kilo":           same(".config/kilo/kilo.jsonc"),
		"copilot-cli":    same(".copilot/mcp-config.json"),
		"qwen":           same(".qwen/settings.json"),
		"continue":       same(".continue/mcpServers/codemode.json"),
		"goose":          xdg("goose/config.yaml", roaming+"/Block/goose/config/config.yaml"),
		"amazon-q":       same(".aws/amazonq/mcp.json"),
		"kiro":           same(".kiro/settings/mcp.json"),
		"jetbrains-ai":   same(".ai/mcp/mcp.json"),
		"junie":          same(".junie/mcp/mcp.json"),
		"lm-studio":      same(".lmstudio/mcp.json"),
		"warp":           same(".warp/.mcp.json"),
		"amp":            xdg("amp/settings.jsonc", roaming+"/amp/settings.json"),
		"crush":          same(".config/crush/crush.json"),
		"droid":          same(".factory/mcp.json"),
		"antigravity":    same(".gemini/config/mcp_config.json"),
		"trae":           config("Trae/User/mcp.json"),
		"kimi":           same(".kimi-code/mcp.json"),
		"vibe":           same(".vibe/config.toml"),
		"grok":           same(".grok/config.toml"),
		"qoder": {
			"/home/a/.qoder/mcp.json", "/Users/a/.qoder/mcp.json", roaming + "/Qoder/SharedClientCache/mcp.json",
		},
		"augment":     same(".augment/settings.json"),
		"rovo-dev":    same(".rovodev/mcp.json"),
		"pi":          same(".pi/agent/mcp.json"),
		"oh-my-pi":    same(".omp/agent/mcp.json"),
		"jan":         config("Jan/data/mcp_config.json"),
		"anythingllm": config("anythingllm-desktop/storage/plugins/anythingllm_mcp_servers.json"),
		"hermes":      {"/home/a/.hermes/config.yaml", "/Users/a/.hermes/config.yaml", local + "/hermes/config.yaml"},
		"witsy":       config("Witsy/settings.json"),
		"boltai":      same(".boltai/mcp.json"),
		"sema4":       same(".sema4ai/sema4ai-studio/mcp_servers.json"),
		"openclaw":    same(".openclaw/openclaw.json"),
		"mcporter":    same(".mcporter/mcporter.jsonc"),
	}
	for n, env := range []clientcfg.Env{
		{OS: "linux", Home: "/home/a"}, {OS: "darwin", Home: "/Users/a"}, {OS: "windows", Home: "/Users/a"},
	} {
		for _, c := range clientcfg.Clients() {
			if c.Install.None != "" {
				continue
			}
			i := &Installer{Env: env}
			targets, err := i.Targets(Request{Client: c, Scope: clientcfg.User, Name: DefaultName})
			if err != nil || filepath.ToSlash(targets[0].Path) != wants[c.ID][n] {
				t.Errorf("%s on %s: %v, %v; want %q", c.ID, env.OS, targets, err, wants[c.ID][n])
			}
		}
	}
}

func TestTargetsThatVariablesMove(t *testing.T) {
	set := map[string]string{
		"CLAUDE_CONFIG_DIR": "/else/claude", "CODEX_HOME": "/else/codex",
		"CLINE_MCP_SETTINGS_PATH": "/else/cline.json", "AMP_SETTINGS_FILE": "/else/amp.json",
		"OPENCODE_CONFIG": "/else/opencode.json", "CRUSH_GLOBAL_CONFIG": "/else/crush",
		"GOOSE_PATH_ROOT": "/else/goose", "QWEN_HOME": "/else/qwen",
	}
	i := &Installer{
		Env: clientcfg.Env{
			OS: "linux", Home: "/home/a", Lookup: func(n string) (string, bool) { v, ok := set[n]; return v, ok },
		},
	}
	for id, want := range map[string]string{
		"claude-code": "/else/claude/.claude.json", "codex": "/else/codex/config.toml", "cline": "/else/cline.json",
		"amp": "/else/amp.json", "opencode": "/else/opencode.json", "crush": "/else/crush/crush.json",
		"goose": "/else/goose/config/config.yaml", "qwen": "/else/qwen/settings.json",
	} {
		targets, err := i.Targets(Request{Client: client(t, id), Scope: clientcfg.User, Name: DefaultName})
		if err != nil || targets[0].Path != want {
			t.Errorf("%s: %v, %v; want %q", id, targets, err, want)
		}
	}
}

// TestEveryClient installs into each client, on an empty machine and in a project, and takes it out again.
func TestEveryClient(t *testing.T) {
	for _, c := range clientcfg.Clients() {
		if c.Install.None != "" {
			continue
		}
		root := filepath.Join(t.TempDir(), "[a]")
		i := newInstaller(root)
		i.Env.WorkDir = filepath.Join(root, "repo")
		write(t, filepath.Join(root, "repo", ".git", "HEAD"), "")
		for _, scope := range []clientcfg.Scope{clientcfg.User, clientcfg.Project} {
			req := Request{Client: c, Scope: scope, Name: DefaultName, Force: true}
			r := i.Install(t.Context(), req)[0]
			if scope == clientcfg.Project && r.Action == Refused &&
				strings.Contains(r.Err.Error(), "reads no file of a project") {
				continue
			}
			if r.Action != Installed {
				t.Errorf("%s, %s: %+v", c.ID, scope, r)
				continue
			}
			if is := i.Env.Reads(r.Path); is != (scope == clientcfg.User) {
				t.Errorf("%s, %s: %q counts as read as the user's: %v", c.ID, scope, r.Path, is)
			}
			data := read(t, r.Path)
			if !strings.Contains(data, "codemode") || !strings.Contains(data, "serve") {
				t.Errorf("%s, %s: %s", c.ID, scope, data)
			}
			if st := i.Status(req, true); st[0].State != IsInstalled && st[0].State != StalePath {
				t.Errorf("%s, %s: %+v", c.ID, scope, st)
			}
			if r := i.Uninstall(t.Context(), req)[0]; r.Action != Removed || exists(r.Path) {
				t.Errorf("%s, %s: %+v", c.ID, scope, r)
			}
		}
		if exists(filepath.Join(root, "home")) {
			entries, _ := filepath.Glob(filepath.Join(root, "home", "*"))
			t.Errorf("%s: there is %v left", c.ID, entries)
		}
	}
}
