package clientcfg

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"codemode/internal/config"
	"codemode/internal/lazyregexp"
)

// A Client is a program that keeps MCP servers in files: a row of the table.
type Client struct {
	ID      string   // never changes: people write it in discovery.sources and in name@ID
	Title   string   // as its makers write it
	Files   []File   // in order of precedence: of two entries of the user's with one name, the first counts
	Key     []string // the members that lead from the top of a file to its servers
	Bare    bool     // a file without the first of Key may be the servers themselves
	List    bool     // servers are a list of objects with a "name", not an object by name
	Strict  bool     // the program rejects comments and trailing commas
	Typed   bool     // the program rejects a "url" without a "type"
	Entry   Shape    // the keys of an entry, where they are its own
	Dialect config.Dialect
	BareURL string        // transport of a url that names none; empty is HTTP
	Unit    time.Duration // of a plain "timeout"; 0 is milliseconds
	Plugins string        // pattern of the files of plugins with servers, which cannot be imported
	Facts   string        // where this is from, and when it was read
	Install Install       // how codemode is put into it, see table_install.go
}

// A Shape is the layout of one entry in a program's file. It decides what install writes, and how the few keys are read
// whose meaning differs from program to program.
type Shape string

// The shapes. All are read alike, since people copy entries from one program to the other; each is written
// its own way.
const (
	Plain    Shape = ""         // command, args, env; url, headers
	Explicit Shape = "type"     // the same, "type" is required
	Argv     Shape = "argv"     // OpenCode: type local or remote, command as a list, environment
	Codex    Shape = "codex"    // env_vars, http_headers, bearer_token_env_var, seconds with _sec
	Goose    Shape = "goose"    // cmd, envs, env_keys, uri
	Context  Shape = "context"  // Zed: source, command
	Continue Shape = "continue" // items of a list, requestOptions.headers
)

// A File is a place where a Client keeps servers. In Path, "~" is home, "{config}" the system's folder for
// programs' settings, "{xdg}" that of the XDG specification, "{local}" Windows' for this machine alone,
// and ${NAME:-PATH} a variable that moves it; an asterisk stands for any name.
type File struct {
	Scope Scope
	Path  string   // of a Project file, relative to the project
	OS    string   // systems that have it, separated by spaces; empty is all
	Key   []string // where it is not the Client's
	Else  bool     // an older place, read only where none before it exists
}

// Env is the machine that files are looked for on. It is spelled out so that every system's paths can be
// tested on any.
type Env struct {
	OS      string                      // as runtime.GOOS
	Home    string                      // empty: there is none
	WorkDir string                      // absolute, where project files are looked for, and above; empty: nowhere
	Lookup  func(string) (string, bool) // the environment; nil is an empty one

	Secrets     string // the file of the tenant's secrets
	AllProjects bool   // Claude Code's entries for other projects are listed, too
}

func (e Env) get(name string) string {
	if e.Lookup == nil {
		return ""
	}
	v, _ := e.Lookup(name)
	return v
}

var variable = lazyregexp.New(`\$\{(\w+)(?::-([^}]*))?\}`)

// PathVariables are the variables of the environment that say where clients have their files.
var PathVariables = sync.OnceValue(func() []string {
	names := []string{"XDG_CONFIG_HOME"} // {config} and {xdg}
	for _, c := range Clients() {
		names = append(names, c.PathVariables()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
})

// PathVariables are those of one client.
func (c Client) PathVariables() (names []string) {
	for _, f := range c.Files {
		for _, m := range variable().FindAllStringSubmatch(f.Path, -1) {
			if !slices.Contains(names, m[1]) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// Expand turns a File's path into one on this machine. It is empty where a variable that it begins with is
// not set, or there is no home.
func (e Env) Expand(path string) string {
	unset := false
	if strings.Contains(path, "{") {
		path, unset = e.replace(path)
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		if e.Home == "" {
			return ""
		}
		path = e.Home + rest
	}
	if unset || !e.isAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}

// replace puts folders and variables into a path. unset says that one of them has no value.
func (e Env) replace(path string) (replaced string, unset bool) {
	config, local := e.folder("XDG_CONFIG_HOME", "~/.config"), "~/.local/share"
	xdg := config
	switch e.OS {
	case "windows":
		config, local = e.folder("APPDATA", "~/AppData/Roaming"), e.folder("LOCALAPPDATA", "~/AppData/Local")
	case "darwin":
		config = "~/Library/Application Support"
	}
	path = strings.ReplaceAll(path, "{config}", config)
	path = strings.ReplaceAll(path, "{local}", local)
	path = strings.ReplaceAll(path, "{xdg}", xdg)
	if !strings.Contains(path, "${") {
		return path, false
	}
	path = variable().ReplaceAllStringFunc(path, func(ref string) string {
		m := variable().FindStringSubmatch(ref)
		v := e.folder(m[1], m[2])
		unset = unset || v == ""
		return v
	})
	return path, unset
}

// folder is the value of a variable that names one, or another where it is unset, or relative to who knows what.
func (e Env) folder(name, other string) string {
	if v := e.get(name); e.isAbs(v) || strings.HasPrefix(v, "~/") {
		return filepath.ToSlash(v)
	}
	return other
}

var drive = lazyregexp.New(`^[A-Za-z]:[/\\]`)

func (e Env) isAbs(path string) bool {
	return strings.HasPrefix(path, "/") || filepath.IsAbs(path) ||
		e.OS == "windows" && (strings.HasPrefix(path, `\\`) || drive().MatchString(path))
}

// On says whether a system has the file.
func (f File) On(os string) bool {
	return f.OS == "" || strings.Contains(" "+f.OS+" ", " "+os+" ")
}

// A SourceDoc is what people read about one name of discovery.sources.
type SourceDoc struct {
	Name  string
	Title string
	Facts string // where what is known of it is from
}

// Names in discovery.sources that stand for more than one client.
const (
	AllSources     = "all"
	NoSources      = "none"
	ProjectSources = "project"
)

// Sources are the names that discovery.sources takes, in the order of precedence. A minus before a name
// leaves it out.
func Sources() []SourceDoc {
	docs := []SourceDoc{
		{Name: AllSources, Title: "every source; the default"},
		{Name: NoSources, Title: "none but what codemode is told itself"},
		{Name: ProjectSources, Title: "the files that came with the project, of every client"},
	}
	for _, c := range clients {
		docs = append(docs, SourceDoc{c.ID, c.Title, c.Facts})
	}
	return docs
}

// Clients is the table. It is not to be changed.
func Clients() []Client { return clients }
