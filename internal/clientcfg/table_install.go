package clientcfg

import "strings"

// An Install is how codemode is put into a client: what the rest of the row does not say already.
type Install struct {
	Places   []Place  // of both scopes; nil is Client.Files without patterns
	Every    bool     // in each place of the user's whose Mark is there, not in one alone
	Newest   bool     // in the first whose Mark is there, even where another holds servers
	Marks    []string // as File.Path: what shows that the client is here, besides a place's own Mark
	Programs []string // the same, on PATH
	First    []Field  // of an entry, before its command
	Last     []Field  // and behind it
	Strips   bool     // servers get a few variables of the environment and those of their entry
	Rewrites bool     // the client writes its file again from memory: look twice
	LockDir  bool     // the client takes FILE.lock, a folder, while it writes; one of 10 s is stale
	Private  bool     // macOS asks its user before another program reads the file
	WSL      bool     // inside WSL, the client is the one of Windows
	Rejects  string   // a member at the top for which the client rejects a project's file
	Reserved []string // names that it keeps to itself
	Link     string   // opens the client and asks its user; {name}, {entry} in base64, {server} URL-encoded
	Notes    []string // what its user should know
	None     string   // why codemode is not put there at all
}

// A Place is a File that codemode is put in. In Path, "{name}" is what codemode is called there.
type Place struct {
	File
	Mark string // as File.Path: what shows that a program uses the file; empty is its folder
	Note string // what to say when it is chosen
	Own  bool   // the file is for codemode alone
}

// A Field is a member of an entry.
type Field struct {
	Key   string
	Value any // string, bool, int or []string
}

func at(f File) Place                    { return Place{File: f} }
func marked(mark string, f File) Place   { return Place{File: f, Mark: mark} }
func (p Place) saying(note string) Place { p.Note = note; return p }
func places(files ...File) (list []Place) {
	for _, f := range files {
		list = append(list, at(f))
	}
	return list
}

const (
	quitFirst  = "quit it fully first, from the tray or the menu bar: it writes its file from memory"
	clineMoved = "Cline of 2026-06 and later has moved its file to ~/.cline/data, and reads this one no more"
)

var (
	stdioType = []Field{{"type", "stdio"}}
	longCalls = []Field{{"tool_timeout_sec", 300}} // the default of 60 s is short for code that calls several tools
)

// extensionFiles are where an extension keeps a file, by the editor it is in. It is there when its folder is.
func extensionFiles(file string) (list []Place) {
	folder, _, _ := strings.Cut(strings.TrimPrefix(file, "globalStorage/"), "/")
	for _, editor := range []string{"Code", "Cursor", "VSCodium"} {
		dir := "{config}/" + editor + "/User/"
		list = append(list, marked(dir+"globalStorage/"+folder, user(dir+file)))
	}
	return list
}

// installs are those of the clients that do something of their own. Facts are from where the client's row says.
var installs = map[string]Install{
	"mcp": {None: "it is no program, but a folder that several read"},
	"claude-code": {
		Places:   places(user("${CLAUDE_CONFIG_DIR:-~}/.claude.json"), project(".mcp.json")),
		Marks:    []string{"${CLAUDE_CONFIG_DIR:-~/.claude}"},
		Programs: []string{"claude"},
		Rewrites: true, Rejects: "servers",
		Reserved: []string{"workspace", "Claude Preview", "Claude Browser"},
	},
	"claude-desktop": {
		Places: []Place{
			marked(
				"{local}/Packages/Claude_*",
				userOn("windows", "{local}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json"),
			),
			at(user("{config}/Claude/claude_desktop_config.json")),
		},
		Marks: []string{"/Applications/Claude.app", "~/Applications/Claude.app"},
		Every: true, Rewrites: true, Private: true, Notes: []string{quitFirst},
	},
	"cursor": {
		Marks:    []string{"/Applications/Cursor.app", "{local}/Programs/cursor"},
		Programs: []string{"cursor", "cursor-agent"},
		Link:     "cursor://anysphere.cursor-deeplink/mcp/install?name={name}&config={entry}",
	},
	"vscode": {
		Places: places(
			editor("Code", "mcp.json"), editor("Code - Insiders", "mcp.json"), editor("VSCodium", "mcp.json"),
			project(".vscode/mcp.json"),
		),
		Marks:    []string{"/Applications/Visual Studio Code.app", "{local}/Programs/Microsoft VS Code"},
		Every:    true,
		Programs: []string{"code"},
		WSL:      true,
		Link:     "vscode:mcp/install?{server}",
		Notes: []string{
			"profiles other than the default one do not have it; it asks for trust when it first starts it",
		},
	},
	"codex": {Programs: []string{"codex"}, Strips: true, Last: longCalls},
	"gemini": {
		Places:   places(user("${GEMINI_CLI_HOME:-~}/.gemini/settings.json"), project(".gemini/settings.json")),
		Marks:    []string{"${GEMINI_CLI_HOME:-~}/.gemini/installation_id", "${GEMINI_CLI_HOME:-~}/.gemini/tmp"},
		Programs: []string{"gemini"}, Strips: true,
	},
	"opencode": {Programs: []string{"opencode"}},
	"windsurf": {
		Places: []Place{
			at(user("~/.codeium/windsurf/mcp_config.json")),
			at(user("~/.codeium/windsurf-next/mcp_config.json")),
			marked("~/.codeium/mcp_config.json", user("~/.codeium/mcp_config.json")), // of the plugin for JetBrains
			// Windsurf is called Devin Desktop since 2026, and its default agent reads Devin's file.
			at(userOn(unixes, "~/.config/devin/mcp_config.json")),
			at(userOn("windows", "{config}/devin/mcp_config.json")),
		},
		Every: true, Marks: []string{"/Applications/Windsurf.app"}, Programs: []string{"windsurf"},
	},
	"devin": {
		Places: places(
			userOn(unixes, "~/.config/devin/mcp_config.json"), userOn("windows", "{config}/devin/mcp_config.json"),
			project(".devin/mcp_config.json"),
		),
		Programs: []string{"devin"},
	},
	"zed": {
		First: []Field{{"source", "custom"}}, // builds of 2025 need it
		Marks: []string{"/Applications/Zed.app"}, Programs: []string{"zed"},
	},
	"cline": {
		Places: append([]Place{
			at(user("${CLINE_MCP_SETTINGS_PATH}")), at(user("${CLINE_DATA_DIR}/settings/cline_mcp_settings.json")),
			marked("${CLINE_DIR:-~/.cline}/data", user("${CLINE_DIR:-~/.cline}/data/settings/cline_mcp_settings.json")),
		}, clineBefore()...),
		Newest: true, LockDir: true, First: stdioType, Last: []Field{{"disabled", false}}, Programs: []string{"cline"},
	},
	"roo": {
		Places: append(extensionFiles(rooFile), at(project(".roo/mcp.json"))), Every: true,
		Notes: []string{"it was discontinued in 2026-05"},
	},
	"copilot-cli": {
		Places:   places(user("${COPILOT_HOME:-~/.copilot}/mcp-config.json"), project(".github/mcp.json")),
		Programs: []string{"copilot"}, Strips: true,
		First: []Field{{"type", "local"}}, Last: []Field{{"tools", []string{"*"}}},
		Notes: []string{"newer builds of VS Code read this file, too, and may show codemode twice"},
	},
	"qwen": {Programs: []string{"qwen"}},
	"continue": {
		Places: []Place{
			{File: user("~/.continue/mcpServers/{name}.json"), Mark: "~/.continue", Own: true},
			{File: project(".continue/mcpServers/{name}.json"), Own: true},
		},
	},
	"goose": {
		Places: places(user("${GOOSE_PATH_ROOT}/config/config.yaml"), userOn(unixes, "~/.config/goose/config.yaml"),
			userOn("windows", "{config}/Block/goose/config/config.yaml")),
		Programs: []string{"goose"},
	},
	"amazon-q": {Programs: []string{"q"}},
	"kiro":     {Marks: []string{"~/.kiro"}, Programs: []string{"kiro", "kiro-cli"}},
	"jetbrains-ai": {
		Notes: []string{
			"its makers document no file: if codemode does not appear, paste what --print prints under Settings, Tools, AI Assistant, MCP",
		},
	},
	"junie": {Marks: []string{"~/.junie"}},
	"warp": {
		Marks: []string{"/Applications/Warp.app"},
		Notes: []string{"it loads the servers of Claude Code and Codex itself, and then shows codemode twice"},
	},
	"amp":      {Programs: []string{"amp"}},
	"crush":    {Programs: []string{"crush"}},
	"droid":    {Programs: []string{"droid"}},
	"grok":     {Last: longCalls},
	"vibe":     {First: []Field{{"transport", "stdio"}}},
	"sema4":    {Last: []Field{{"transport", "stdio"}}},
	"mcporter": {Programs: []string{"mcporter"}},
}

func clineBefore() (list []Place) {
	for _, p := range extensionFiles(clineOld) {
		list = append(list, p.saying(clineMoved))
	}
	return list
}

// withInstalls fills the last column of the table.
func withInstalls(list []Client) []Client {
	for i := range list {
		c := &list[i]
		c.Install = installs[c.ID]
		if c.Install.Places != nil {
			continue
		}
		for _, f := range c.Files {
			if !strings.Contains(f.Path, "*") && f.Scope != System && f.Key == nil {
				c.Install.Places = append(c.Install.Places, at(f))
			}
		}
	}
	return list
}

// Aliases are names that people use for more than one client.
var Aliases = map[string][]string{
	"claude": {"claude-code", "claude-desktop"},
}
