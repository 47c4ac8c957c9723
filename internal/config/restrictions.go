package config

import (
	"fmt"
	"slices"

	"codemode/internal/policy"
)

// Restrictions are what a server in a sandbox may use. The zero value is the least: what the system and its own program
// consist of, and a home that is empty and its own.
type Restrictions struct {
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

// RestrictionsFields are the fields of an entry that say what a server may use in a sandbox.
type RestrictionsFields struct {
	Kind        string // "sandbox"
	Read, Write []string
	Network     bool
	Memory      any  // text or a number; nil is none
	Any         bool // one of the fields but Kind is there
}

// SetRestrictions gives the server the restrictions that its entry asks for. Its errors are *FieldErrors.
func (s *Server) SetRestrictions(f RestrictionsFields) error {
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
	s.Sandbox = &Restrictions{Read: f.Read, Write: f.Write, Network: f.Network}
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

// RestrictionsOf are those of a server: its entry's own, or those that mcp.sandbox gives it. A project's entry can
// neither decline nor widen the latter.
func (s Servers) RestrictionsOf(server Server) *Restrictions {
	named := server.Command != "" && slices.ContainsFunc(s.Sandbox, func(pattern string) bool {
		return matches(pattern, server.Name) || matches(pattern, policy.PlainName(server.Name))
	})
	own := server.Project == ""
	if !named || own && (server.Sandbox != nil || server.NoSandbox) {
		return server.Sandbox
	}
	return &Restrictions{}
}
