// Package config is codemode's own settings: one koanf, layered from defaults, the user's config.toml, a project's,
// the tenant's tables, environment and flags, and the Server type.
//
// It is the only reader of CODEMODE_* and MCP_BRIDGE_* variables. It never reads an AI client's
// files (clientcfg does), never expands the ${VAR} of a server (clientcfg.Expand does, when upstream
// starts one) and starts nothing. Values are plain data; nothing needs closing.
package config

import (
	"time"

	"codemode/internal/policy"
)

// Config is every setting, resolved. A field's koanf tag is the name of its key in keys.go.
type Config struct {
	Tenant       string       `koanf:"tenant"`
	Sandbox      Sandbox      `koanf:"sandbox"`
	Run          Run          `koanf:"run"`
	Exec         Exec         `koanf:"exec"`
	Output       Output       `koanf:"output"`
	Files        Files        `koanf:"files"`
	Packages     Packages     `koanf:"packages"`
	Instructions Instructions `koanf:"instructions"`
	Expose       []string     `koanf:"expose"` // patterns of tools that clients see beside run_python
	Servers      Servers      `koanf:"mcp"`    // [servers.NAME] are the servers themselves
	Policy       Policy       `koanf:"policy"`
	Audit        Audit        `koanf:"audit"`
	Secrets      Secrets      `koanf:"secrets"`
	Disk         Disk         `koanf:"disk"`
	Discovery    Discovery    `koanf:"discovery"`
	Catalog      Catalog      `koanf:"catalog"`
	Tools        Tools        `koanf:"tools"`
	REPL         REPL         `koanf:"repl"`
	Log          Log          `koanf:"log"`
	Registry     Registry     `koanf:"registry"`
	Release      Release      `koanf:"release"`

	// By key: the variables of the environment that settings are from, and the lines of files, as people say them.
	Variables map[string]string `koanf:"-"`
	Lines     map[string]string `koanf:"-"`

	Tenants []string `koanf:"-"` // those there are, the default one first

	// Problems are what a project's file says and is not applied, in the order of its lines. A stranger's
	// mistake is told, but stops nothing.
	Problems []error `koanf:"-"`
}

// RuntimeAuto stands for the first runtime of Sandbox.Order that works, RuntimeNative for the one that needs no engine.
const (
	RuntimeAuto   = "auto"
	RuntimeNative = "native"
)

// Sandbox says where and how code runs.
type Sandbox struct {
	Runtime     string        `koanf:"runtime"`    // RuntimeAuto, or the name of one
	Order       []string      `koanf:"order"`      // what auto tries
	Isolation   string        `koanf:"isolation"`  // "full" or "reduced"
	Python      string        `koanf:"python"`     // another interpreter than the embedded one
	AllowGaps   []string      `koanf:"allow_gaps"` // names of limits the user agrees to do without
	Memory      int64         `koanf:"memory"`     // bytes
	Pids        int           `koanf:"pids"`
	CPUs        float64       `koanf:"cpus"`      // 0 is no limit
	TmpSize     int64         `koanf:"tmp_size"`  // bytes
	WorkSize    int64         `koanf:"work_size"` // bytes
	Image       string        `koanf:"image"`
	Pull        string        `koanf:"pull"` // "never" or "missing"
	User        string        `koanf:"user"` // uid:gid inside a container
	Podman      Podman        `koanf:"podman"`
	Kubernetes  Kubernetes    `koanf:"kubernetes"`
	Pool        int           `koanf:"pool"`         // sandboxes kept ready
	IdleTimeout time.Duration `koanf:"idle_timeout"` // 0 is never
}

// Podman is for that engine alone.
type Podman struct {
	Machine string `koanf:"machine"` // "off" or "manage"
}

// Kubernetes is for that runtime alone. Empty is what kubectl takes by itself.
type Kubernetes struct {
	Context      string   `koanf:"context"`
	Namespace    string   `koanf:"namespace"`
	RuntimeClass string   `koanf:"runtime_class"`
	NodeSelector []string `koanf:"node_selector"` // NAME=VALUE
	Requests     []string `koanf:"requests"`      // NAME=VALUE
	Template     string   `koanf:"template"`      // path of a file
	WarmPool     string   `koanf:"warm_pool"`     // of agent-sandbox
}

// Run bounds one run.
type Run struct {
	Timeout    time.Duration `koanf:"timeout"`     // a run's deadline when the call names none
	MaxTimeout time.Duration `koanf:"max_timeout"` // ceiling; a larger request is clamped to it
	Grace      time.Duration `koanf:"grace"`       // between the interrupt and the kill
}

// Exec is for `codemode exec` alone.
type Exec struct {
	Timeout time.Duration `koanf:"timeout"` // 0 is none, as in python3
}

// Output says how results look.
type Output struct {
	Mode       string `koanf:"mode"`       // "compact", "toon" or "json"
	Structured bool   `koanf:"structured"` // results have structuredContent, too
	Limit      int64  `koanf:"limit"`      // bytes of stdout and of stderr that go to the model
	Keep       int64  `koanf:"keep"`       // bytes of one run's output kept readable as a resource
}

// Instructions says what clients tell their model about codemode at the start of a session.
type Instructions struct {
	Servers bool `koanf:"servers"` // the names of the servers that code may use
}

// Servers says where MCP servers are found and how they are started.
type Servers struct {
	Files     []string          `koanf:"files"`      // more files of servers (MCP_SERVERS_CONFIG, --servers-file)
	Dir       string            `koanf:"dir"`        // folder whose *.json are read, ~/MCPs
	Include   []string          `koanf:"include"`    // patterns; none is all, see Selects
	Exclude   []string          `koanf:"exclude"`    // patterns; they win
	Sandbox   []string          `koanf:"sandbox"`    // patterns of servers that run in a sandbox, see RestrictionsOf
	AllowSelf bool              `koanf:"allow_self"` // keep entries that look like codemode itself
	Own       map[string]Server `koanf:"-"`          // [servers.NAME] of config.toml, and of the tenant
	// [servers.NAME] of the project's file, by name: the user has to approve them.
	Project []Server `koanf:"-"`
	// ~/MCPs, where MCP_BRIDGE_STATE_DIR names another folder that is read besides; else empty.
	Usual        string
	StartTimeout time.Duration `koanf:"start_timeout"` // until a server has answered initialize and tools/list
	CallTimeout  time.Duration `koanf:"call_timeout"`  // of one tool call

	tenantsOwn []string // names of Own that the tenant itself has
}

// Policy says which tools code may call, and how much.
type Policy struct {
	policy.Rules   `koanf:",squash"`
	ConfirmTimeout time.Duration `koanf:"confirm_timeout"` // for the user's answer
	// Places says where each rule is set, by the rule's name, in words that name no folder: code is told them.
	Places map[string]string `koanf:"-"`
}

// Disk bounds what is kept.
type Disk struct {
	MaxSize int64 `koanf:"max_size"` // bytes of all that a tenant keeps, but for its audit log
}

// Audit says what is in the audit log, and how much of it is kept.
type Audit struct {
	MaxSize int64 `koanf:"max_size"` // bytes of one file
	Keep    int   `koanf:"keep"`     // files; 0 keeps no log

	Arguments string `koanf:"arguments"` // "hashed" or "full"
	Required  bool   `koanf:"required"`  // no call without its line
}

// Secrets says how what is secret is kept.
type Secrets struct {
	Store string `koanf:"store"` // "auto", "keyring" or "file"
}

// Discovery says which programs' MCP servers are used.
type Discovery struct {
	Sources []string `koanf:"sources"` // names of clientcfg's, lower case
}

// Catalog is what is kept of servers' lists of tools.
type Catalog struct {
	MaxAge time.Duration `koanf:"max_age"` // 0 is for ever
}

// Tools is what may be done with saved tools.
type Tools struct {
	Save bool `koanf:"save"` // whether code may save any
}

// REPL is for lines that a person types.
type REPL struct {
	History bool `koanf:"history"` // whether they are kept for the next time
}

// Log is what goes to stderr.
type Log struct {
	Level  string `koanf:"level"`  // "debug", "info", "warn" or "error"
	Format string `koanf:"format"` // "text" or "json"
}

// Packages is for `codemode packages`.
type Packages struct {
	Index    string        `koanf:"index"`
	Cooldown time.Duration `koanf:"cooldown"`
}

// Registry is for `codemode servers find` and `codemode servers add`.
type Registry struct {
	Address string `koanf:"address"` // of an MCP registry, without its interface's version
}

// Release is for `codemode version --check` alone.
type Release struct {
	Address string `koanf:"address"` // where the newest release is described, as GitHub's API does it; empty is unknown
}
