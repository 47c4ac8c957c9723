package config

import (
	"slices"
	"strings"
	"sync"
)

// key is one setting: where it comes from, what it may be, and the words people read about it. Parsing
// and documentation are both made from the table of them.
type key struct {
	name  string   // dotted, as in config.toml: "sandbox.memory"; its variable is CODEMODE_SANDBOX_MEMORY
	kind  kind     // how its value is parsed, see kinds.go
	def   string   // the default, as written in config.toml
	older []string // environment variables of the Python original for the same setting
	flag  string   // its flag; commands that have it name it in settingFlags
	adds  bool     // a list: later layers prepend to it instead of replacing it
	trust trust    // what a project's file may do with it
	doc   string   // for docs/cli.md, config.schema.json, config init and --help
}

// trust is what a project's file may do with a setting. Such a file comes with a clone: it is a stranger's, and
// may neither choose what is started or read nor loosen a limit.
type trust int

const (
	never     trust = iota // not touch it
	freely                 // set it
	lower                  // lower it
	lowerZero              // lower it, where 0 is no limit at all
	extend                 // add to a list that takes something away
	asks                   // ask for it: its user approves
)

// releases is the default of release.address: where this build's newest release is described. The linker sets it in
// release builds (.goreleaser.yaml); a build from source has none.
var releases string

// keys is every setting, in the order people read them.
var keys = []key{
	{
		name: "tenant", kind: tenantName, def: DefaultTenant, flag: "--tenant",
		doc: "set of servers, limits and state to use",
	},
	{
		name: "expose", kind: grants,
		doc: "tools that clients see beside run_python, and call themselves",
	},

	{
		name: "sandbox.runtime", kind: runtimeName, def: "auto", older: []string{"MCP_BRIDGE_RUNTIME"},
		flag: "--runtime", doc: "where code runs: auto, native, podman, docker, kubernetes",
	},
	{
		name: "sandbox.order", kind: runtimeOrder, def: "native,podman,docker",
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
		name: "sandbox.memory", kind: sizeFrom("16m"), def: "512m", older: []string{"MCP_BRIDGE_MEMORY"},
		flag: "--memory", trust: lower, doc: "memory of one sandbox",
	},
	{
		name: "sandbox.pids", kind: countFrom(8), def: "128", older: []string{"MCP_BRIDGE_PIDS"}, trust: lower,
		doc: "processes and threads in one sandbox",
	},
	{
		name: "sandbox.cpus", kind: number, def: "0", older: []string{"MCP_BRIDGE_CPUS"},
		doc: "CPU cores, decimals allowed; 0 is no limit",
	},
	{
		name: "sandbox.tmp_size", kind: sizeFrom("1m"), def: "64m", trust: lower,
		doc: "size of /tmp in the sandbox",
	},
	{
		name: "sandbox.work_size", kind: sizeFrom("1m"), def: "128m", trust: lower,
		doc: "size of /workspace in the sandbox",
	},
	{
		name: "sandbox.image", kind: text, def: "python:3.14-slim", older: []string{"MCP_BRIDGE_IMAGE"},
		doc: "image for the container runtimes",
	},
	{
		name: "sandbox.pull", kind: oneOf("never", "missing"), def: "never", flag: "--pull",
		doc: "whether to fetch an image: never or missing",
	},
	{
		name: "sandbox.user", kind: userGroup, def: "65534:65534", older: []string{"MCP_BRIDGE_CONTAINER_USER"},
		doc: "user and group inside a container",
	},
	{
		name: "sandbox.podman.machine", kind: oneOf("off", "manage"), def: "off",
		doc: "manage: make and start the Podman machine where one is needed",
	},
	{
		name: "sandbox.kubernetes.context", kind: text,
		doc: "context of kubectl whose cluster has the pods; none is the current one",
	},
	{
		name: "sandbox.kubernetes.namespace", kind: text,
		doc: "namespace of the pods; none is the context's",
	},
	{
		name: "sandbox.kubernetes.runtime_class", kind: text,
		doc: "runtime class of the pods, as gvisor; none is the cluster's own",
	},
	{
		name: "sandbox.kubernetes.node_selector", kind: pairs,
		doc: "labels of the nodes that may have the pods, as pool=sandboxes",
	},
	{
		name: "sandbox.kubernetes.requests", kind: requests,
		doc: "what a pod asks its node for, as cpu=500m, memory=256Mi; its limits are sandbox.cpus and sandbox.memory",
	},
	{
		name: "sandbox.kubernetes.template", kind: anyPath,
		doc: "file of a pod whose labels, placement, requests and pull secrets the pods have",
	},
	{
		name: "sandbox.kubernetes.warm_pool", kind: text,
		doc: "warm pool of agent-sandbox that gives the pods; none makes them",
	},
	{
		name: "sandbox.pool", kind: countFrom(0), def: "1", trust: lower,
		doc: "sandboxes kept ready for new sessions",
	},
	{
		name: "sandbox.idle_timeout", kind: duration, def: "300s", older: []string{"MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT"},
		trust: lowerZero, doc: "idle time after which a session's sandbox is stopped; 0 is never",
	},

	{
		name: "run.timeout", kind: deadline, def: "30s", older: []string{"MCP_BRIDGE_TIMEOUT"}, trust: freely,
		doc: "deadline of a run_python call that names none",
	},
	{
		name: "run.max_timeout", kind: deadline, def: "120s", older: []string{"MCP_BRIDGE_MAX_TIMEOUT"}, trust: lower,
		doc: "longest deadline a run_python call may ask for",
	},
	{
		name: "run.grace", kind: duration, def: "2s", trust: lower,
		doc: "time between interrupting code at its deadline and killing it",
	},
	{
		name: "exec.timeout", kind: duration, def: "0", flag: "--timeout", trust: lowerZero,
		doc: "deadline of exec and call; 0 is none",
	},

	{
		name: "files.mounts", kind: mounts, flag: "--mount", adds: true,
		doc: "folders that code sees in /workspace: DIR[:NAME][:ro|rw]",
	},

	{
		name: "files.roots", kind: boolean, def: "false",
		doc: "show code the client's folders (roots of MCP) in /workspace, to be read",
	},
	{
		name: "files.project", kind: boolean, def: "false", trust: asks,
		doc: "show code the project's own folder in /workspace, to be read",
	},

	{
		name: "packages.index", kind: safeAddress, def: "https://pypi.org/simple", flag: "--index",
		doc: "index that packages are added from",
	},
	{
		name: "packages.cooldown", kind: duration, def: "168h",
		doc: "age a version must have to be added, unless it is asked for by number; 0 is none",
	},

	{
		name: "output.mode", kind: oneOf("compact", "toon", "json"), def: "compact",
		older: []string{"MCP_BRIDGE_OUTPUT_MODE"}, trust: freely, doc: "text of a run_python result",
	},
	{
		name: "output.structured", kind: boolean, def: "false", trust: lower,
		doc: "give results a structuredContent, too; some clients hand their model that instead of the text",
	},
	{
		name: "output.limit", kind: size, def: "32k", trust: lower,
		doc: "bytes of stdout and of stderr that go to the model; more is cut to head and tail",
	},
	{
		name: "output.keep", kind: size, def: "256m", trust: lower,
		doc: "bytes of one run's output that stay readable as a resource",
	},

	{
		name: "disk.max_size", kind: sizeFrom("1m"), def: "1g",
		doc: "bytes of all that a tenant keeps: large outputs, images, saved tools, lists of tools; the oldest go first",
	},

	{
		name: "instructions.servers", kind: boolean, def: "true", trust: lower,
		doc: "name the servers to the model at the start of a session",
	},

	{
		name: "mcp.files", kind: files, older: []string{"MCP_SERVERS_CONFIG"}, flag: "--servers-file", adds: true,
		doc: "more files of MCP servers",
	},
	{
		name: "mcp.dir", kind: anyPath, def: "~/MCPs", older: []string{"MCP_BRIDGE_STATE_DIR"},
		doc: "folder whose *.json files are read for MCP servers",
	},
	{
		name: "mcp.include", kind: globs,
		doc: "servers to use, by name; none is all",
	},
	{
		name: "mcp.exclude", kind: globs,
		doc: "servers not to use, by name; it wins over include",
	},
	{
		name: "mcp.sandbox", kind: globs,
		doc: "servers to run in a sandbox, by name; their own entries say more",
	},
	{
		name: "mcp.allow_self", kind: boolean, def: "false", older: []string{"MCP_BRIDGE_ALLOW_SELF_SERVER"},
		doc: "keep entries that would start codemode itself",
	},
	{
		name: "mcp.start_timeout", kind: deadline, def: "60s", trust: lower,
		doc: "time a server has to start and list its tools; five times as long where npx, uvx or the like may fetch it",
	},
	{
		name: "mcp.call_timeout", kind: deadline, def: "300s", trust: lower,
		doc: "time a server has to answer one tool call",
	},

	{
		name: "policy.allow", kind: grants,
		doc: "tools that code may call; none is all",
	},
	{
		name: "policy.deny", kind: rules, trust: extend,
		doc: "tools that code may not call; it wins over allow",
	},
	{
		name: "policy.confirm", kind: rules, trust: extend,
		doc: "tools whose calls the user is asked about, one by one",
	},
	{
		name: "policy.approved", kind: grants,
		doc: "tools of policy.confirm that need not be asked about",
	},
	{
		name: "policy.confirm_timeout", kind: deadline, def: "5m", trust: lower,
		doc: "time the user has to answer; no answer is a no",
	},
	{
		name: "policy.questions", kind: countFrom(0), def: "10", trust: lowerZero,
		doc: "questions that one run may ask its user, whose further calls are denied; 0 is no limit",
	},
	{
		name: "policy.calls_per_run", kind: countFrom(0), def: "0", trust: lowerZero,
		doc: "tool calls one run may make; 0 is no limit",
	},
	{
		name: "policy.calls_per_minute", kind: countFrom(0), def: "0", trust: lowerZero,
		doc: "tool calls that all sessions of one codemode may make in a minute; 0 is no limit",
	},
	{
		name: "policy.concurrency", kind: countFrom(0), def: "0", trust: lowerZero,
		doc: "calls one server gets at once, others wait; 0 is no limit",
	},
	{
		name: "policy.max_arguments", kind: size, def: "64m", trust: lower,
		doc: "bytes of one call's arguments",
	},
	{
		name: "policy.max_result", kind: size, def: "64m", trust: lower,
		doc: "bytes of one call's result",
	},

	{
		name: "audit.max_size", kind: sizeFrom("64k"), def: "16m",
		doc: "size at which the audit log begins another file",
	},
	{
		name: "audit.keep", kind: countFrom(0), def: "8",
		doc: "files of the audit log that are kept; 0 keeps no log",
	},

	{
		name: "audit.arguments", kind: oneOf("hashed", "full"), def: "hashed",
		doc: "what the audit log has of a call's arguments: hashed, or full but for secrets",
	},
	{
		name: "audit.required", kind: boolean, def: "false",
		doc: "make no call that cannot be written to the audit log first, and have results wait for the disk",
	},

	{
		name: "secrets.store", kind: oneOf("auto", "keyring", "file"), def: "auto",
		doc: "what seals secrets and tokens: auto (the keyring where it answers), keyring or file (nothing)",
	},

	{
		name: "discovery.sources", kind: names, def: "all",
		doc: "programs whose MCP servers are used, too: all, none, names, or -name",
	},
	{
		name: "catalog.max_age", kind: duration, def: "24h",
		doc: "age at which a server's list of tools is fetched again; 0 is never",
	},

	{
		name: "tools.save", kind: boolean, def: "true", trust: lower,
		doc: "whether code may save functions for later sessions",
	},

	{
		name: "repl.history", kind: boolean, def: "true",
		doc: "keep what is typed into repl, so that the arrows bring it back the next time",
	},

	{
		name: "log.level", kind: logLevel, def: "info", older: []string{"MCP_BRIDGE_LOG_LEVEL"},
		doc: "how much is logged on stderr: debug, info, warn or error",
	},
	{
		name: "log.format", kind: oneOf("text", "json"), def: "text",
		doc: "what a line of the log looks like: text or json",
	},

	{
		name: "registry.address", kind: safeAddress, def: "https://registry.modelcontextprotocol.io",
		doc: "MCP registry that servers find and servers add ask",
	},
	{
		name: "release.address", kind: address, def: releases,
		doc: "where version --check asks for the newest release: GitHub's API, or what answers as it does",
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

func keyNames() []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return names
}

// isSection says whether keys are in a table of that name.
func isSection(name string) bool {
	return slices.ContainsFunc(keys, func(k key) bool { return strings.HasPrefix(k.name, name+".") })
}

// Doc is what people read about one setting.
type Doc struct {
	Name      string   // in config.toml
	Default   string   // empty when there is none
	Forms     string   // what a value may look like
	Variables []string // the one that wins first
	Flag      string   // empty when no command has one
	Project   string   // what a project's file may do with it
	Text      string
}

// String is for people.
func (t trust) String() string { return [...]string{"no", "yes", "lower", "lower", "add", "ask"}[t] }

// Docs describes every setting, in the order people read them. It is one list, which nobody changes.
func Docs() []Doc { return docs() }

var docs = sync.OnceValue(func() []Doc { // every flag of every command asks
	docs := make([]Doc, 0, len(keys))
	for _, k := range keys {
		docs = append(docs, Doc{k.name, k.def, k.kind.forms, k.variables(), k.flag, k.trust.String(), k.doc})
	}
	return docs
})
