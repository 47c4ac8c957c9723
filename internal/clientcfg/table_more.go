package clientcfg

import (
	"time"

	"codemode/internal/config"
)

// plain is a row of what most programs do: {"mcpServers": {NAME: {"command", "args", "env"}}}.
func plain(id, title, facts string, files ...File) Client {
	return Client{ID: id, Title: title, Key: mcpServers, Dialect: config.DialectNone, Files: files, Facts: facts}
}

// lesserUsed are the programs that come last.
var lesserUsed = []Client{
	plain(
		"jetbrains-ai", "JetBrains AI Assistant", installers, user("~/.ai/mcp/mcp.json"), project(".ai/mcp/mcp.json"),
	),
	plain("junie", "JetBrains Junie", installers, user("~/.junie/mcp/mcp.json"), project(".junie/mcp/mcp.json")),
	{
		ID: "lm-studio", Title: "LM Studio", Key: mcpServers, Dialect: config.DialectEnvColon,
		Files: []File{user("~/.lmstudio/mcp.json"), older("~/.cache/lm-studio/mcp.json")}, Facts: makers,
	},
	plain("warp", "Warp", makers, user("~/.warp/.mcp.json"), project(".warp/.mcp.json")),
	{
		ID: "amp", Title: "Amp", Key: []string{"amp.mcpServers"}, Dialect: config.DialectBraces,
		Files: []File{
			user("${AMP_SETTINGS_FILE}"),
			userOn(unixes, "{xdg}/amp/settings.jsonc"),
			userOn(unixes, "{xdg}/amp/settings.json"),
			userOn("windows", "{config}/amp/settings.json"),
			project(".amp/settings.json"),
		},
		Facts: installers,
	},
	{
		ID:      "crush",
		Title:   "Crush",
		Key:     []string{"mcp"},
		Typed:   true,
		Entry:   Explicit,
		Dialect: config.DialectDollar,
		Unit:    time.Second,
		Files: []File{
			user("${CRUSH_GLOBAL_CONFIG}/crush.json"), user("{xdg}/crush/crush.json"),
			{Scope: User, Path: "{local}/crush/crush.json", OS: "windows", Else: true},
			project(".crush.json"), project("crush.json"),
		},
		Facts: read("github.com/charmbracelet/crush at 37f36e9"),
	},
	{
		ID: "droid", Title: "Factory Droid", Key: mcpServers, Typed: true, Entry: Explicit, Dialect: config.DialectNone,
		Files: []File{user("~/.factory/mcp.json"), project(".factory/mcp.json")}, Facts: installers,
	},
	plain(
		"antigravity", "Antigravity", installers, user("~/.gemini/config/mcp_config.json"),
		user("~/.gemini/antigravity-ide/mcp_config.json"), user("~/.gemini/antigravity/mcp_config.json"),
		project(".agents/mcp_config.json"),
	),
	plain("trae", "Trae", installers, user("{config}/Trae/User/mcp.json")),
	plain("kimi", "Kimi", installers, user("${KIMI_CODE_HOME:-~/.kimi-code}/mcp.json"), older("~/.kimi/mcp.json")),
	{
		ID: "vibe", Title: "Mistral Vibe", Key: codexKey, List: true, Dialect: config.DialectNone,
		Files: []File{user("~/.vibe/config.toml")}, Facts: installers,
	},
	{
		ID: "grok", Title: "Grok Build", Key: codexKey, Entry: Codex, Dialect: config.DialectNone, Unit: time.Second,
		Files: []File{user("${GROK_HOME:-~/.grok}/config.toml")}, Facts: installers,
	},
	plain(
		"qoder", "Qoder", installers, userOn(unixes, "~/.qoder/mcp.json"),
		userOn("windows", "{config}/Qoder/SharedClientCache/mcp.json"),
	),
	plain("augment", "Augment", installers, user("~/.augment/settings.json")),
	plain("rovo-dev", "Rovo Dev", installers, user("~/.rovodev/mcp.json")),
	plain("pi", "Pi", installers, user("~/.pi/agent/mcp.json")),
	plain("oh-my-pi", "oh-my-pi", installers, user("~/.omp/agent/mcp.json")),
	plain("jan", "Jan", installers, user("{config}/Jan/data/mcp_config.json")),
	plain(
		"anythingllm", "AnythingLLM", installers,
		user("{config}/anythingllm-desktop/storage/plugins/anythingllm_mcp_servers.json"),
	),
	{
		ID: "hermes", Title: "Hermes", Key: codexKey, Dialect: config.DialectNone, Facts: installers,
		Files: []File{userOn(unixes, "~/.hermes/config.yaml"), userOn("windows", "{local}/hermes/config.yaml")},
	},
	plain("witsy", "Witsy", installers, user("{config}/Witsy/settings.json")),
	plain("boltai", "BoltAI", installers, user("~/.boltai/mcp.json")),
	plain("sema4", "Sema4.ai", installers, user("~/.sema4ai/sema4ai-studio/mcp_servers.json")),
	{
		ID: "openclaw", Title: "OpenClaw", Key: []string{"mcp", "servers"}, Dialect: config.DialectBraces,
		Files: []File{user("~/.openclaw/openclaw.json")}, Facts: installers,
	},
	{
		ID:      "mcporter",
		Title:   "mcporter",
		Key:     mcpServers,
		Dialect: config.DialectBraces,
		Facts:   read("github.com/openclaw/mcporter at ae3d900"),
		Files: []File{
			user("~/.mcporter/mcporter.jsonc"), user("~/.mcporter/mcporter.json"), project("config/mcporter.json"),
		},
	},
}
