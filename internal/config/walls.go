package config

import (
	"fmt"
	"slices"

	"codemode/internal/policy"
)

// Walls are what a server may use that runs behind the walls of the native runtime. The zero value is the least: what
// the system and its own program consist of, and a home that is empty and its own.
type Walls struct {
	Read    []string `json:"read,omitempty"`  // files and folders it may read
	Write   []string `json:"write,omitempty"` // and change
	Network bool     `json:"network"`
	Memory  int64    `json:"memory,omitempty"` // bytes; 0 is the default
}

// Values of an entry's "sandbox".
const (
	SandboxNative = "native"
	SandboxOff    = "off"
)

// WallsFields are the fields of an entry that say what a server may use in a sandbox.
type WallsFields struct {
	Kind        string // "sandbox"
	Read, Write []string
	Network     bool
	Memory      any  // text or a number; nil is none
	Any         bool // one of the fields but Kind is there
}

// SetWalls gives the server the walls that its entry asks for. Its errors are *FieldErrors.
func (s *Server) SetWalls(f WallsFields) error {
	switch {
	case f.Kind != "" && f.Kind != SandboxNative && f.Kind != SandboxOff:
		return &FieldError{s.Name, "sandbox", SandboxNative + " or " + SandboxOff}
	case f.Any && f.Kind != SandboxNative:
		return &FieldError{
			s.Name, "sandbox", fmt.Sprintf("%q, since it says what the server may use in one", SandboxNative),
		}
	case f.Kind == SandboxNative && s.Command == "":
		return &FieldError{s.Name, "sandbox", `left out: it is for servers with a "command"`}
	}
	s.NoSandbox = f.Kind == SandboxOff
	if f.Kind != SandboxNative {
		return nil
	}
	s.Sandbox = &Walls{Read: f.Read, Write: f.Write, Network: f.Network}
	if f.Memory != nil {
		memory, ok := serverMemory.value(f.Memory, place{})
		if !ok {
			return &FieldError{s.Name, "sandbox_memory", serverMemory.forms}
		}
		s.Sandbox.Memory = memory.(int64)
	}
	return nil
}

var serverMemory = sizeFrom("64m")

// WallsOf are those of a server: its entry's own, or those that mcp.sandbox gives it. A project's entry can neither
// decline nor widen the latter.
func (s Servers) WallsOf(server Server) *Walls {
	named := server.Command != "" && slices.ContainsFunc(s.Sandbox, func(pattern string) bool {
		return matches(pattern, server.Name) || matches(pattern, policy.PlainName(server.Name))
	})
	own := server.Project == ""
	if !named || own && (server.Sandbox != nil || server.NoSandbox) {
		return server.Sandbox
	}
	return &Walls{}
}
