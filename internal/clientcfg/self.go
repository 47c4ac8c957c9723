package clientcfg

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/config"
)

// Names of the program that codemode replaces: as a package, a module, a script and a repository. They
// are long enough to mean it wherever they stand. "codemode" is not, a folder or somebody else's package
// may be called so; it counts as a program, and before "serve".
const (
	self           = "codemode"
	original       = "mcp-server-code-execution-mode"
	originalModule = "mcp_server_code_execution_mode"
)

// Self is what is known of the codemode that runs.
type Self struct {
	Executable string   // its file; empty: not compared
	URLs       []string // where it is served by HTTP
}

// selfFinder finds entries that would start codemode again.
type selfFinder struct {
	env   Env
	exe   os.FileInfo
	ports []string        // of loopback URLs it is served at
	isExe map[string]bool // programs that were looked for
}

func newSelfFinder(env Env, self Self) *selfFinder {
	f := &selfFinder{env: env, isExe: map[string]bool{}}
	if self.Executable != "" {
		f.exe, _ = os.Stat(self.Executable) // one that is gone is found by its name
	}
	for _, text := range self.URLs {
		if port := loopbackPort(text); port != "" {
			f.ports = append(f.ports, port)
		}
	}
	return f
}

// StartsCodemode says whether an entry starts codemode itself.
func StartsCodemode(s config.Server, env Env, self Self) bool {
	return newSelfFinder(env, self).reason(s) != "" && !isOriginal(s.Name+" "+s.Command+" "+strings.Join(s.Args, " "))
}

// reason says why an entry would start codemode again, or nothing.
func (f *selfFinder) reason(s config.Server) string {
	if isOriginal(s.Name) {
		return fmt.Sprintf("it is called %q", s.Name)
	}
	words := append([]string{s.Command}, s.Args...)
	for i, word := range words {
		if isOriginal(word) {
			return fmt.Sprintf("it starts %s", original)
		}
		if isSelf(word) && i+1 < len(words) && words[i+1] == "serve" {
			return "it starts codemode serve"
		}
		if f.servedBy(word) {
			return "it is reached at codemode's own address"
		}
	}
	if f.servedBy(s.URL) {
		return "it is reached at codemode's own address"
	}
	for _, program := range programs(words) {
		if isSelf(program) || f.isExecutable(program) {
			return "it starts codemode"
		}
	}
	return ""
}

// WrapsCodemode says whether an entry starts codemode by something else of its user's, such as env or a shell, rather
// than at once, or by what has it of npm, which Windows may need cmd or wsl for.
func WrapsCodemode(s config.Server, env Env, self Self) bool {
	words, assigned := append([]string{s.Command}, s.Args...), []string(nil)
	if name := base(s.Command); name == "cmd" || name == "wsl" {
		words, assigned = unwrap(words)
	}
	p, _ := packageOf(words)
	direct := p.family == "npm" && len(p.options) == 0 || StartsCodemode(config.Server{Command: words[0]}, env, self)
	return StartsCodemode(s, env, self) && (len(assigned) > 0 || !direct)
}

// StartsOriginal says whether an entry starts the program that codemode replaces, rather than codemode. That is of
// Python, so what npm starts only has its folder for an argument.
func StartsOriginal(s config.Server) bool {
	words, _ := unwrap(append([]string{s.Command}, s.Args...))
	p, _ := packageOf(words)
	return p.family != "npm" && slices.ContainsFunc(words, isOriginal)
}

// IsOriginalVariable tells whether codemode reads a variable with the meaning that the Python original gave it.
func IsOriginalVariable(name string) bool {
	return strings.HasPrefix(name, "MCP_BRIDGE_") || name == "MCP_SERVERS_CONFIG"
}

// IsSetting tells whether a variable decides about codemode's servers.
func IsSetting(name string) bool {
	return strings.HasPrefix(name, "CODEMODE_") || strings.HasPrefix(name, "XDG_") || name == "HOME" ||
		IsOriginalVariable(name)
}

// Given is the environment that an entry gives to its program: values, and names of variables that are passed on.
func Given(s config.Server) (values map[string]string, passed []string) {
	values = maps.Clone(s.Env)
	if values == nil {
		values = map[string]string{}
	}
	_, assigned := unwrap(append([]string{s.Command}, s.Args...))
	for _, text := range assigned {
		name, value, _ := strings.Cut(text, "=")
		values[name] = value
	}
	return values, s.EnvPass
}

func (f *selfFinder) servedBy(text string) bool {
	return len(f.ports) > 0 && strings.Contains(text, "://") && slices.Contains(f.ports, loopbackPort(text))
}

// loopbackPort is the port of a URL of this very machine.
func loopbackPort(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Hostname() == "localhost" || err == nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return u.Port()
	}
	return ""
}

// isExecutable says whether a program is codemode under another name: a link to it, or a copy of the path.
func (f *selfFinder) isExecutable(program string) bool {
	if f.exe == nil || program == "" {
		return false
	}
	is, known := f.isExe[program]
	if !known {
		is = slices.ContainsFunc(f.candidates(program), func(name string) bool {
			info, err := os.Stat(name)
			return err == nil && os.SameFile(info, f.exe)
		})
		f.isExe[program] = is
	}
	return is
}

func (f *selfFinder) candidates(program string) []string {
	if rest, ok := strings.CutPrefix(program, "~"); ok {
		program = f.env.Home + rest
	}
	if strings.ContainsAny(program, `/\`) {
		return []string{program}
	}
	var names []string
	for _, dir := range filepath.SplitList(f.env.get("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		name := filepath.Join(dir, program)
		names = append(names, name)
		if f.env.OS == "windows" {
			names = append(names, name+".exe")
		}
	}
	return names
}

func isOriginal(s string) bool {
	s = strings.ToLower(s)
	return strings.Contains(s, original) || strings.Contains(s, originalModule)
}

func isSelf(s string) bool { return base(s) == self }

// base is a program's name without folder, extension, image tag and package version: "codemode@latest". The
// scope of a package stays, "@other/codemode" is another.
func base(s string) string {
	s = strings.ReplaceAll(strings.ToLower(s), `\`, "/")
	if !strings.HasPrefix(s, "@") {
		s = path.Base(s)
	}
	for _, extension := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		s = strings.TrimSuffix(s, extension)
	}
	if i := strings.LastIndexAny(s, "@:"); i > 0 {
		s = s[:i]
	}
	return s
}

// aggregators are programs that offer other servers through one: behind them may be the same servers again.
// They are named as their packages, images and programs are, 2026-11.
var aggregators = []struct{ title, words string }{
	{"Docker MCP Gateway", "docker mcp gateway run"},
	{"Docker MCP Gateway", "docker-mcp gateway run"},
	{"mcpproxy", "mcpproxy"},
	{"toolport", "toolport"},
	{"mcporter", "mcporter serve"},
	{"MetaMCP", "mcp-server-metamcp"},
	{"MetaMCP", "@metamcp/mcp-server-metamcp"},
	{"1MCP", "@1mcp/agent"},
	{"1MCP", "1mcp"},
	{"mcp-hub", "mcp-hub"},
	{"MCP Router", "@mcp_router/cli"},
}

// aggregator names the aggregator that an entry starts, if it is one.
func aggregator(s config.Server) string {
	if s.Command == "" {
		return ""
	}
	words := append([]string{s.Command}, s.Args...)
	for i := range words {
		words[i] = base(words[i])
	}
	line := " " + strings.Join(words, " ") + " "
	for _, a := range aggregators {
		first, _, _ := strings.Cut(a.words, " ")
		if strings.Contains(line, " "+a.words+" ") && (words[0] == first || isLauncher(words)) {
			return a.title
		}
	}
	return ""
}

func isLauncher(words []string) bool {
	_, _, ok := launcher(words)
	return ok
}
