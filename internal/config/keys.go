package config

import (
	"slices"
	"strings"
)

// key is one setting: where it comes from, what it may be, and the words people read about it. Parsing
// and documentation are both made from the table of them.
type key struct {
	name  string   // in config.toml; CODEMODE_ and the name in capitals is its variable
	kind  kind     // what it may be
	def   string   // as a user would write it
	older []string // variables of the Python original that mean the same
	flag  string   // on the command line, of the commands that have it
	adds  bool     // a list that a later layer adds to, in front, instead of replacing it
	doc   string
}

// keys is every setting, in the order people read them.
var keys = []key{
	{
		name: "sandbox.runtime", kind: runtimeName, def: "auto", older: []string{"MCP_BRIDGE_RUNTIME"}, flag: "--runtime",
		doc: "where code runs: auto or native",
	},
	{
		name: "sandbox.order", kind: runtimeOrder, def: "native",
		doc: "runtimes of which auto takes the first that works here",
	},
	{
		name: "sandbox.isolation", kind: oneOf("full", "reduced"), def: "full",
		doc: "reduced does without namespaces, for machines that forbid them",
	},
	{
		name: "sandbox.python", kind: program, flag: "--python",
		doc: "another interpreter than the embedded one, or a venv",
	},
	{
		name: "sandbox.allow_gaps", kind: words,
		doc: "limits to do without where the machine cannot enforce them",
	},
	{
		name: "sandbox.memory", kind: sizeFrom("16m"), def: "512m", older: []string{"MCP_BRIDGE_MEMORY"}, flag: "--memory",
		doc: "memory of one sandbox",
	},
	{
		name: "sandbox.pids", kind: countFrom(8), def: "128", older: []string{"MCP_BRIDGE_PIDS"},
		doc: "processes and threads in one sandbox",
	},
	{
		name: "sandbox.cpus", kind: number, def: "0", older: []string{"MCP_BRIDGE_CPUS"},
		doc: "CPU cores, decimals allowed; 0 is no limit",
	},
	{
		name: "sandbox.tmp_size", kind: sizeFrom("1m"), def: "64m",
		doc: "size of /tmp in the sandbox",
	},
	{
		name: "sandbox.work_size", kind: sizeFrom("1m"), def: "128m",
		doc: "size of /workspace in the sandbox",
	},
	{
		name: "sandbox.image", kind: text, def: "python:3.14-slim", older: []string{"MCP_BRIDGE_IMAGE"},
		doc: "image for container runtimes, which come with a later version",
	},
	{
		name: "sandbox.user", kind: userGroup, def: "65534:65534", older: []string{"MCP_BRIDGE_CONTAINER_USER"},
		doc: "user and group inside a container, likewise",
	},
	{
		name: "sandbox.idle_timeout", kind: duration, def: "300s", older: []string{"MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT"},
		doc: "idle time after which a session's sandbox is stopped; 0 is never",
	},

	{
		name: "run.timeout", kind: deadline, def: "30s", older: []string{"MCP_BRIDGE_TIMEOUT"},
		doc: "deadline of a run_python call that names none",
	},
	{
		name: "run.max_timeout", kind: deadline, def: "120s", older: []string{"MCP_BRIDGE_MAX_TIMEOUT"},
		doc: "longest deadline a run_python call may ask for",
	},
	{
		name: "run.grace", kind: duration, def: "2s",
		doc: "time between interrupting code at its deadline and killing it",
	},
	{
		name: "exec.timeout", kind: duration, def: "0", flag: "--timeout",
		doc: "deadline of codemode exec; 0 is none",
	},

	{
		name: "output.mode", kind: oneOf("compact", "toon", "json"), def: "compact", older: []string{"MCP_BRIDGE_OUTPUT_MODE"},
		doc: "text of a run_python result",
	},
	{
		name: "output.limit", kind: size, def: "32k",
		doc: "bytes of stdout and of stderr that go to the model; more is cut to head and tail",
	},
	{
		name: "output.keep", kind: size, def: "256m",
		doc: "bytes of one run's output that stay readable as a resource",
	},

	{
		name: "mcp.files", kind: files, older: []string{"MCP_SERVERS_CONFIG"}, flag: "--servers-file", adds: true,
		doc: "more files of MCP servers",
	},
	{
		name: "mcp.dir", kind: path, def: "~/MCPs", older: []string{"MCP_BRIDGE_STATE_DIR"},
		doc: "folder whose *.json files are read for MCP servers",
	},
	{
		name: "mcp.allow_self", kind: boolean, def: "false", older: []string{"MCP_BRIDGE_ALLOW_SELF_SERVER"},
		doc: "keep entries that would start codemode itself",
	},
	{
		name: "mcp.start_timeout", kind: deadline, def: "60s",
		doc: "time a server has to start and list its tools",
	},
	{
		name: "mcp.call_timeout", kind: deadline, def: "300s",
		doc: "time a server has to answer one tool call",
	},

	{
		name: "log.level", kind: logLevel, def: "info", older: []string{"MCP_BRIDGE_LOG_LEVEL"},
		doc: "how much is logged on stderr: debug, info, warn or error",
	},
}

// variables are the environment variables of a key, the one that wins first.
func (k key) variables() []string {
	own := ownPrefix + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
	return append([]string{own}, k.older...)
}

func findKey(name string) (key, bool) {
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return keys[i], true
}

// Doc is what people read about one setting.
type Doc struct {
	Name      string   // in config.toml
	Default   string   // empty when there is none
	Forms     string   // what a value may look like
	Variables []string // the one that wins first
	Flag      string   // empty when no command has one
	Text      string
}

// Docs describes every setting, in the order people read them.
func Docs() []Doc {
	docs := make([]Doc, 0, len(keys))
	for _, k := range keys {
		docs = append(docs, Doc{k.name, k.def, k.kind.forms, k.variables(), k.flag, k.doc})
	}
	return docs
}
