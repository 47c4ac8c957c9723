package config

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// DefaultTenant is the tenant of those who have none. It needs no configuration.
const DefaultTenant = "default"

var (
	// A tenant's name is that of its folders, so it is one on every file system.
	tenantPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)
	// Names that Windows keeps for devices: Microsoft's "Naming Files, Paths, and Namespaces", read 2026-11.
	devicePattern = regexp.MustCompile(`^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])$`)
)

func validTenant(name string) bool {
	return tenantPattern.MatchString(name) && !devicePattern.MatchString(name)
}

// Selects says whether the tenant may use a server that discovery calls by this name. The servers in its own
// [tenants.NAME.servers] are always its own; of all others, Include and Exclude choose.
//
// A pattern of Exclude is also held against the name without the "@client" that discovery adds to the second of a
// name: who excludes "prod" does not mean to get it from elsewhere.
func (s Servers) Selects(server string) bool {
	if slices.Contains(s.tenantsOwn, server) {
		return true
	}
	plain := plainName(server)
	for _, pattern := range s.Exclude {
		if matches(pattern, server) || matches(pattern, plain) {
			return false
		}
	}
	return len(s.Include) == 0 || slices.ContainsFunc(s.Include, func(p string) bool { return matches(p, server) })
}

// Idle are the patterns of mcp.sandbox, mcp.include and mcp.exclude that fit none of these servers, each behind its key. What
// was to be kept out, or behind walls, may be misspelt there.
func (s Servers) Idle(servers []string) (list []string) {
	for _, setting := range []struct {
		key      string
		patterns []string
	}{{"mcp.sandbox", s.Sandbox}, {"mcp.include", s.Include}, {"mcp.exclude", s.Exclude}} {
		for _, pattern := range setting.patterns {
			if !slices.ContainsFunc(servers, func(name string) bool { return matches(pattern, name) || matches(pattern, plainName(name)) }) {
				list = append(list, fmt.Sprintf("%s: %q", setting.key, pattern))
			}
		}
	}
	return list
}

// plainName is a name without the "@client" of discovery.
func plainName(server string) string {
	if i := strings.LastIndexByte(server, '@'); i > 0 {
		return server[:i]
	}
	return server
}

// matches is path.Match for names in which a slash is a character like any other: "io.github.someone/tool".
func matches(pattern, name string) bool {
	ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok
}

func validGlob(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil
}
