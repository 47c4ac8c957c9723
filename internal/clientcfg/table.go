package clientcfg

import (
	"time"

	"codemode/internal/config"
)

// The sources that are codemode's own. They are one program: of one name the first hides the others.
const (
	filesID  = "files"  // --servers-file, MCP_SERVERS_CONFIG
	configID = "config" // [servers.NAME] of config.toml
	folderID = "mcps"   // ~/MCPs/*.json
)

func isOwn(id string) bool { return id == filesID || id == configID || id == folderID }

func user(path string) File                   { return File{Scope: User, Path: path} }
func userOn(os, path string) File             { return File{Scope: User, Path: path, OS: os} }
func older(path string) File                  { return File{Scope: User, Path: path, Else: true} }
func system(os, path string) File             { return File{Scope: System, Path: path, OS: os} }
func project(path string) File                { return File{Scope: Project, Path: path} }
func (f File) under(key ...string) File       { f.Key = key; return f }
func read(what string) string                 { return what + ", read 2026-11" }
func editor(dir string, names ...string) File { return user("{config}/" + dir + "/User/" + names[0]) }

const (
	// Where facts are from that have no better source.
	makers     = "its makers' documentation, read 2026-11"
	installers = "not confirmed by its makers: the sources of toolhive, toolport and rulesync, read 2026-11"

	unixes    = "linux darwin freebsd openbsd netbsd"
	clineOld  = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
	rooFile   = "globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
	opencodeD = "{xdg}/opencode"
)

var (
	mcpServers = []string{"mcpServers"}
	codexKey   = []string{"mcp_servers"}
)

// clients is every program whose files are read, in the order of precedence: what is for MCP alone, then the
// clients most used.
var clients = withInstalls(append([]Client{
	{
		ID: "mcp", Title: "MCP servers for any client", Key: mcpServers,
		Files: []File{user("{xdg}/mcp/servers/*.json"), project("mcp-servers/*.json")},
		Facts: "the program that codemode replaces reads these, 2025-11",
	},
	{
		ID:      "claude-code",
		Title:   "Claude Code",
		Key:     mcpServers,
		Strict:  true,
		Typed:   true,
		Entry:   Explicit,
		Dialect: config.DialectBraces,
		Files: []File{
			user("${CLAUDE_CONFIG_DIR:-~}/.claude.json"),
			project(".mcp.json"),
			user("{config}/Claude/claude_code_config.json"),
			user("{config}/Claude Code/claude_code_config.json"),
			project("claude_code_config.json"),
		},
		Plugins: "${CLAUDE_CONFIG_DIR:-~/.claude}/plugins/cache/*/*/*/.mcp.json",
		Facts: read(
			"Claude Code docs/mcp.md and CHANGELOG 2.1.202; the folder of plugins is not confirmed; the older claude_code_config.json as the program that codemode replaces",
		),
	},
	{
		ID:      "cursor",
		Title:   "Cursor",
		Key:     mcpServers,
		Strict:  true,
		Dialect: config.DialectEnvColon,
		Files:   []File{user("~/.cursor/mcp.json"), project(".cursor/mcp.json")},
		Plugins: "~/.cursor/plugins/cache/*/*/*/mcp.json",
		Facts: read(
			"cursor.com/docs/mcp; the folder of plugins: github.com/vercel/vercel-plugin/issues/125; that comments are rejected: github.com/upstash/context7/issues/563",
		),
	},
	{
		ID: "vscode", Title: "VS Code", Key: []string{"servers"}, Entry: Explicit, Dialect: config.DialectEnvColon,
		Files: []File{
			editor("Code", "mcp.json"),
			editor("Code", "profiles/*/mcp.json"),
			editor("Code - Insiders", "mcp.json"),
			editor("VSCodium", "mcp.json"),
			user("~/.vscode-server/data/User/mcp.json"),
			editor("Code", "settings.json").under("mcp", "servers"),
			project(".vscode/mcp.json"),
			project(".vscode/settings.json").under("mcp", "servers"),
			project(".devcontainer/devcontainer.json").under("customizations", "vscode", "mcp", "servers"),
			project(".devcontainer.json").under("customizations", "vscode", "mcp", "servers"),
		},
		Facts: read("github.com/microsoft/vscode-docs docs/agents/reference/mcp-configuration.md of 2026-06-03"),
	},
	{
		ID: "claude-desktop", Title: "Claude Desktop", Key: mcpServers, Strict: true, Dialect: config.DialectNone,
		Files: []File{
			userOn("windows", "{local}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json"),
			user("{config}/Claude/claude_desktop_config.json"), project("claude_desktop_config.json"),
		},
		Facts: read("its makers' documentation; the MSIX folder: github.com/anthropics/claude-code/issues/26073"),
	},
	{
		ID: "codex", Title: "Codex", Key: codexKey, Entry: Codex, Dialect: config.DialectNone, Unit: time.Second,
		Files: []File{user("${CODEX_HOME:-~/.codex}/config.toml"), project(".codex/config.toml")},
		Facts: read("github.com/openai/codex docs/config.md and codex-rs/core mcp_edit.rs"),
	},
	{
		ID: "gemini", Title: "Gemini CLI", Key: mcpServers, Dialect: config.DialectDollar, BareURL: config.SSE,
		Files: []File{
			user("${GEMINI_CLI_HOME:-~}/.gemini/settings.json"),
			project(".gemini/settings.json"),
			system(unixes, "/etc/gemini-cli/settings.json"),
			system("windows", "C:/ProgramData/gemini-cli/settings.json"),
		},
		Facts: read("github.com/google-gemini/gemini-cli at 5411f11"),
	},
	{
		ID: "opencode", Title: "OpenCode", Key: []string{"mcp"}, Entry: Argv, Dialect: config.DialectCurly,
		Files: []File{
			user("${OPENCODE_CONFIG}"),
			user("${OPENCODE_CONFIG_DIR}/opencode.jsonc"),
			user("${OPENCODE_CONFIG_DIR}/opencode.json"),
			user(opencodeD + "/opencode.jsonc"),
			user(opencodeD + "/opencode.json"),
			project("opencode.jsonc"),
			project("opencode.json"),
			project(".opencode/opencode.jsonc"),
			project(".opencode/opencode.json"),
			system("linux", "/etc/opencode/opencode.json"),
			system("windows", "C:/ProgramData/opencode/opencode.json"),
		},
		Facts: makers,
	},
	{
		ID: "windsurf", Title: "Windsurf", Key: mcpServers, Strict: true, Dialect: config.DialectEnvColon,
		Files: []File{
			user("~/.codeium/windsurf/mcp_config.json"),
			user("~/.codeium/windsurf-next/mcp_config.json"),
			user("~/.codeium/mcp_config.json"),
		},
		Facts: makers,
	},
	{
		ID: "devin", Title: "Devin", Key: mcpServers, Strict: true, Dialect: config.DialectEnvColon,
		Files: []File{
			userOn(unixes, "~/.config/devin/mcp_config.json"), userOn("windows", "{config}/devin/mcp_config.json"),
			project(".devin/mcp_config.local.json"), project(".devin/mcp_config.json"),
		},
		Facts: installers,
	},
	{
		ID: "zed", Title: "Zed", Key: []string{"context_servers"}, Entry: Context, Dialect: config.DialectNone,
		Files: []File{
			userOn(unixes, "{xdg}/zed/settings.json"),
			userOn("windows", "{config}/Zed/settings.json"),
			project(".zed/settings.json"),
		},
		Facts: makers,
	},
	{
		ID:      "cline",
		Title:   "Cline",
		Key:     mcpServers,
		Strict:  true,
		Dialect: config.DialectNone,
		BareURL: config.SSE,
		Unit:    time.Second,
		Files: []File{
			user("${CLINE_MCP_SETTINGS_PATH}"),
			user("${CLINE_DATA_DIR}/settings/cline_mcp_settings.json"),
			user("${CLINE_DIR:-~/.cline}/data/settings/cline_mcp_settings.json"),
			older("{config}/Code/User/" + clineOld),
			older("{config}/Cursor/User/" + clineOld),
			older("{config}/VSCodium/User/" + clineOld),
		},
		Facts: read("github.com/cline/cline at 21cb8d2 and its pull request 11818"),
	},
	{
		ID:      "roo",
		Title:   "Roo Code",
		Key:     mcpServers,
		Strict:  true,
		Typed:   true,
		Dialect: config.DialectEnvColon,
		Unit:    time.Second,
		Files: []File{
			editor("Code", rooFile), editor("Cursor", rooFile), editor("VSCodium", rooFile), project(".roo/mcp.json"),
		},
		Facts: read("github.com/RooCodeInc/Roo-Code at cb83656; discontinued in 2026-05"),
	},
	{
		ID: "kilo", Title: "Kilo Code", Key: []string{"mcp"}, Entry: Argv, Dialect: config.DialectCurly,
		Files: []File{user("~/.config/kilo/kilo.jsonc"), project("kilo.jsonc"), project(".kilo/kilo.jsonc")},
		Facts: installers,
	},
	{
		ID:      "copilot-cli",
		Title:   "GitHub Copilot CLI",
		Key:     mcpServers,
		Bare:    true,
		Strict:  true,
		Dialect: config.DialectLeadingDollar,
		Files: []File{
			user("${COPILOT_HOME:-~/.copilot}/mcp-config.json"), project(".mcp.json"), project(".github/mcp.json"),
		},
		Facts: read("github.com/github/copilot-cli at 9532bda, changelog.md"),
	},
	{
		ID: "qwen", Title: "Qwen Code", Key: mcpServers, Dialect: config.DialectDollar, BareURL: config.SSE,
		Files: []File{user("${QWEN_HOME:-~/.qwen}/settings.json"), project(".qwen/settings.json")},
		Facts: installers,
	},
	{
		ID: "continue", Title: "Continue", Key: mcpServers, List: true, Entry: Continue, Dialect: config.DialectSecrets,
		Files: []File{
			user("~/.continue/config.yaml"),
			user("~/.continue/mcpServers/*.json"),
			user("~/.continue/mcpServers/*.yaml"),
			project(".continue/mcpServers/*.yaml"),
			project(".continue/mcpServers/*.json"),
		},
		Facts: read("github.com/continuedev/continue at d0a3c0b, loadJsonMcpConfigs.ts"),
	},
	{
		ID:      "goose",
		Title:   "Goose",
		Key:     []string{"extensions"},
		Entry:   Goose,
		Dialect: config.DialectNone,
		Unit:    time.Second,
		Files: []File{
			user("${GOOSE_PATH_ROOT}/config/config.yaml"),
			userOn(unixes, "~/.config/goose/config.yaml"),
			userOn("windows", "{config}/Block/goose/config/config.yaml"),
			user("~/.agents/plugins/*/.mcp.json").under("mcpServers"),
			project(".agents/plugins/*/.mcp.json").under("mcpServers"),
		},
		Facts: read("its makers' documentation; the folders also in the sources of mcp-gateway and toolhive"),
	},
	{
		ID:      "amazon-q",
		Title:   "Amazon Q CLI",
		Key:     mcpServers,
		Strict:  true,
		Dialect: config.DialectEnvColon,
		Files: []File{
			user("~/.aws/amazonq/mcp.json"), user("~/.aws/amazonq/cli-agents/*.json"), project(".amazonq/mcp.json"),
		},
		Facts: read("github.com/aws/amazon-q-developer-cli at 15cc8f3"),
	},
	{
		ID: "kiro", Title: "Kiro", Key: mcpServers, Strict: true, Dialect: config.DialectBraces,
		Files: []File{user("~/.kiro/settings/mcp.json"), project(".kiro/settings/mcp.json")},
		Facts: makers,
	},
}, lesserUsed...))
