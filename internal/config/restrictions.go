package config

import (
	"fmt"
	"slices"
	"strings"
)

// Restrictions are what a server in a sandbox may use. The zero value is the least: what the system and its own program
// consist of, and a home that is empty and its own. With an image, the sandbox is a pod.
type Restrictions struct {
	Image   string   `json:"image,omitempty"`
	Read    []string `json:"read,omitempty"`  // files and folders it may read
	Write   []string `json:"write,omitempty"` // and change
	Network bool     `json:"network"`
	Memory  int64    `json:"memory,omitempty"` // bytes; 0 is the default
}

// Values of an entry's "sandbox".
const (
	SandboxNative     = "native"
	SandboxKubernetes = "kubernetes"
	SandboxOff        = "off"
)

// RestrictionsFields are the fields of an entry that say what a server may use in a sandbox.
type RestrictionsFields struct {
	Kind        string // "sandbox"
	Image       string
	Read, Write []string
	Network     bool
	Memory      any  // text or a number; nil is none
	Any         bool // one of the fields but Kind is there
}

// SetRestrictions gives the server the restrictions that its entry asks for. Its errors are *FieldErrors.
func (s *Server) SetRestrictions(f RestrictionsFields) error {
	switch {
	case f.Kind != "" && f.Kind != SandboxNative && f.Kind != SandboxKubernetes && f.Kind != SandboxOff:
		return &FieldError{s.Name, "sandbox", SandboxNative + ", " + SandboxKubernetes + " or " + SandboxOff}
	case f.Kind == SandboxKubernetes || f.Image != "":
		return s.setPod(f)
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
	return s.setMemory(f.Memory)
}

var serverMemory = sizeFrom("64m")

// setPod has the server run in a pod.
func (s *Server) setPod(f RestrictionsFields) error {
	switch {
	case f.Kind != SandboxKubernetes:
		return &FieldError{s.Name, "sandbox", fmt.Sprintf("%q, since it names an image", SandboxKubernetes)}
	case s.Command == "":
		return &FieldError{s.Name, "sandbox", `left out: it is for servers with a "command"`}
	case f.Image == "" || strings.HasPrefix(f.Image, "-"):
		return &FieldError{s.Name, "sandbox_image", "the image that its pod has"}
	case len(f.Read)+len(f.Write) > 0:
		return &FieldError{s.Name, "sandbox_read", "left out, as sandbox_write: a pod has no files of this machine"}
	case s.Cwd != "" && s.Cwd != s.Project: // where a project's start if nothing is said
		return &FieldError{s.Name, "cwd", "left out: its pod starts it in the folder that its image names"}
	case !f.Network:
		return &FieldError{s.Name, "sandbox_network", "true: its pod has the cluster's network"}
	}
	s.Sandbox, s.Cwd = &Restrictions{Image: f.Image, Network: true}, ""
	return s.setMemory(f.Memory)
}

func (s *Server) setMemory(raw any) error {
	if raw == nil {
		return nil
	}
	memory, ok := serverMemory.value(raw, place{})
	if !ok {
		return &FieldError{s.Name, "sandbox_memory", serverMemory.forms}
	}
	s.Sandbox.Memory = memory.(int64)
	return nil
}

// RestrictionsOf are those of a server: its entry's own, or those that mcp.sandbox gives it. A project's entry can
// neither decline nor widen the latter.
func (s Servers) RestrictionsOf(server Server) *Restrictions {
	named := server.Command != "" && slices.ContainsFunc(s.Sandbox, func(pattern string) bool {
		return slices.ContainsFunc(server.Names(), func(name string) bool { return matchesPlain(pattern, name) })
	})
	own := server.Project == ""
	if !named || own && (server.Sandbox != nil || server.NoSandbox) {
		return server.Sandbox
	}
	return &Restrictions{}
}
