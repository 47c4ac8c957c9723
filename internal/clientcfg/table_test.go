package clientcfg

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// paths are the user's files of a client on a machine, patterns as they are.
func paths(env Env, id string) (list []string) {
	for _, c := range Clients() {
		if c.ID != id {
			continue
		}
		for _, f := range c.Files {
			if name := env.Expand(f.Path); f.Scope != Project && f.On(env.OS) && name != "" {
				list = append(list, filepath.ToSlash(name))
			}
		}
	}
	return list
}

func TestPathsOnEverySystem(t *testing.T) {
	const winHome, roaming, local = "C:/Users/a", "C:/Users/a/AppData/Roaming", "C:/Users/a/AppData/Local"
	for id, want := range map[string][3]string{ // the first of each system
		"mcp":            {"/home/a/.config/mcp/servers/*.json", "/Users/a/.config/mcp/servers/*.json", winHome + "/.config/mcp/servers/*.json"},
		"claude-code":    {"/home/a/.claude.json", "/Users/a/.claude.json", winHome + "/.claude.json"},
		"cursor":         {"/home/a/.cursor/mcp.json", "/Users/a/.cursor/mcp.json", winHome + "/.cursor/mcp.json"},
		"vscode":         {"/home/a/.config/Code/User/mcp.json", "/Users/a/Library/Application Support/Code/User/mcp.json", roaming + "/Code/User/mcp.json"},
		"claude-desktop": {"/home/a/.config/Claude/claude_desktop_config.json", "/Users/a/Library/Application Support/Claude/claude_desktop_config.json", local + "/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json"},
		"codex":          {"/home/a/.codex/config.toml", "/Users/a/.codex/config.toml", winHome + "/.codex/config.toml"},
		"gemini":         {"/home/a/.gemini/settings.json", "/Users/a/.gemini/settings.json", winHome + "/.gemini/settings.json"},
		"opencode":       {"/home/a/.config/opencode/opencode.jsonc", "/Users/a/.config/opencode/opencode.jsonc", winHome + "/.config/opencode/opencode.jsonc"},
		"windsurf":       {"/home/a/.codeium/windsurf/mcp_config.json", "/Users/a/.codeium/windsurf/mcp_config.json", winHome + "/.codeium/windsurf/mcp_config.json"},
		"devin":          {"/home/a/.config/devin/mcp_config.json", "/Users/a/.config/devin/mcp_config.json", roaming + "/devin/mcp_config.json"},
		"zed":            {"/home/a/.config/zed/settings.json", "/Users/a/.config/zed/settings.json", roaming + "/Zed/settings.json"},
		"goose":          {"/home/a/.config/goose/config.yaml", "/Users/a/.config/goose/config.yaml", roaming + "/Block/goose/config/config.yaml"},
		"crush":          {"/home/a/.config/crush/crush.json", "/Users/a/.config/crush/crush.json", winHome + "/.config/crush/crush.json"},
		"amp":            {"/home/a/.config/amp/settings.jsonc", "/Users/a/.config/amp/settings.jsonc", roaming + "/amp/settings.json"},
		"qoder":          {"/home/a/.qoder/mcp.json", "/Users/a/.qoder/mcp.json", roaming + "/Qoder/SharedClientCache/mcp.json"},
		"hermes":         {"/home/a/.hermes/config.yaml", "/Users/a/.hermes/config.yaml", local + "/hermes/config.yaml"},
	} {
		for i, env := range []Env{
			{OS: "linux", Home: "/home/a"}, {OS: "darwin", Home: "/Users/a"}, {OS: "windows", Home: "C:/Users/a"},
		} {
			if got := paths(env, id); len(got) == 0 || got[0] != want[i] {
				t.Errorf("%s on %s: %q, want first %q", id, env.OS, got, want[i])
			}
		}
	}
}

func TestPathsThatVariablesMove(t *testing.T) {
	set := map[string]string{
		"CLAUDE_CONFIG_DIR": "/else/claude",
		"CODEX_HOME":        "~/codex",
		"XDG_CONFIG_HOME":   "/else/xdg",
		"COPILOT_HOME":      "not/absolute",
		"OPENCODE_CONFIG":   "/else/opencode.json",
		"APPDATA":           `D:\Roaming`,
	}
	lookup := func(name string) (string, bool) { v, ok := set[name]; return v, ok }
	env := Env{OS: "linux", Home: "/home/a", Lookup: lookup}
	for id, want := range map[string]string{
		"claude-code": "/else/claude/.claude.json", "codex": "/home/a/codex/config.toml", "copilot-cli": "/home/a/.copilot/mcp-config.json",
		"opencode": "/else/opencode.json", "vscode": "/else/xdg/Code/User/mcp.json", "zed": "/else/xdg/zed/settings.json",
	} {
		if got := paths(env, id); len(got) == 0 || got[0] != want {
			t.Errorf("%s: %q, want first %q", id, got, want)
		}
	}
	env = Env{OS: "windows", Home: "C:/Users/a", Lookup: lookup}
	if got := paths(env, "vscode"); !strings.HasPrefix(strings.ReplaceAll(got[0], `\`, "/"), "D:/Roaming/Code/User") {
		t.Errorf("on Windows: %q", got)
	}
	for _, c := range Clients() {
		for _, name := range paths(Env{OS: "linux"}, c.ID) {
			if !strings.HasPrefix(name, "/etc/") {
				t.Errorf("without a home %s is looked for in %q", c.ID, name)
			}
		}
	}
}

func TestTable(t *testing.T) {
	id, dated := regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`), regexp.MustCompile(`, (?:read )?20\d\d-\d\d$`)
	var ids []string
	for _, c := range Clients() {
		if !id.MatchString(c.ID) || slices.Contains(ids, c.ID) || isOwn(c.ID) {
			t.Errorf("%q is no name for a source", c.ID)
		}
		ids = append(ids, c.ID)
		if c.Title == "" || len(c.Key) == 0 || len(c.Files) == 0 {
			t.Errorf("%s lacks a title, a key or files", c.ID)
		}
		if !dated.MatchString(c.Facts) && !strings.Contains(c.Facts, "read 2026-11") &&
			!strings.Contains(c.Facts, "2026-05") {
			t.Errorf("%s does not say when its facts were read: %q", c.ID, c.Facts)
		}
		for _, f := range c.Files {
			switch {
			case f.Scope == Project && (!filepath.IsLocal(filepath.FromSlash(f.Path)) || strings.ContainsAny(f.Path, "~{$")):
				t.Errorf("%s: %q is not in a project", c.ID, f.Path)
			case f.Scope != Project && !strings.ContainsAny(f.Path[:1], "~{$/C"):
				t.Errorf("%s: %q is relative to nothing", c.ID, f.Path)
			}
		}
	}
	if order := ids[:7]; !slices.Equal(
		order, []string{"mcp", "claude-code", "cursor", "vscode", "claude-desktop", "codex", "gemini"},
	) {
		t.Errorf("precedence is %v", order)
	}
}

func TestSources(t *testing.T) {
	for _, doc := range Sources() {
		if err := CheckSources([]string{doc.Name}); err != nil {
			t.Errorf("%q is documented and does not exist", doc.Name)
		}
	}
	if err := CheckSources([]string{"cursor", "-vscode", "curser"}); err == nil ||
		!strings.Contains(err.Error(), `"curser"`) {
		t.Errorf("a misspelt name: %v", err)
	}
	for _, tt := range []struct {
		names         string
		user, project bool // whether cursor's files are read
	}{
		{"", true, true},
		{"all", true, true},
		{"none", false, false},
		{"cursor", true, true},
		{"vscode", false, false},
		{"-cursor", false, false},
		{"-project", true, false},
		{"all -vscode", true, true},
		{"project", false, true},
		{"cursor -project", true, false},
		{"vscode all", true, true},
		{" Cursor ", true, true},
		{"curser", false, false},
		{"-curser", true, true},
	} {
		s, _ := selectSources(strings.Split(tt.names, " "))
		if got := s.takes("cursor", User); got != tt.user {
			t.Errorf("%q: the user's: %v", tt.names, got)
		}
		if got := s.takes("cursor", Project); got != tt.project {
			t.Errorf("%q: the project's: %v", tt.names, got)
		}
	}
}

func TestClaudeProjectsOnWindows(t *testing.T) {
	f := file{env: &Env{OS: "windows", WorkDir: `C:\Users\Ann\proj\sub`}}
	for folder, want := range map[string]bool{
		`C:\Users\Ann\proj`: true, "C:/Users/Ann/proj": true, "c:/users/ann/PROJ/": true, `C:\Users\Ann\proj\sub`: true,
		"C:/Users/Ann/pro": false, "D:/Users/Ann/proj": false, "Users/Ann": false, "": false,
	} {
		if got := f.covers(folder); got != want {
			t.Errorf("%q: %v", folder, got)
		}
	}
}

// Files that could hold servers are named whether they are there or not; of patterns, their folder.
func TestUserFiles(t *testing.T) {
	files := UserFiles(Env{OS: "linux", Home: "/home/a"})
	for _, want := range []string{"/home/a/.claude.json", "/home/a/.cursor/mcp.json", "/home/a/.config/mcp/servers"} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is not among %q", want, files)
		}
	}
	for _, f := range files {
		if strings.ContainsAny(f, "*?[{") || len(f) <= len("/home/a/") {
			t.Errorf("%q would keep too much, or nothing", f)
		}
	}
}
