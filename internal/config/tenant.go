package config

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"codemode/internal/lazyregexp"
	"codemode/internal/policy"
)

// DefaultTenant is the tenant of those who have none. It needs no configuration.
const DefaultTenant = "default"

var (
	// A tenant's name is that of its folders, so it is one on every file system.
	tenantPattern = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,31}$`)
	// Names that Windows keeps for devices: Microsoft's "Naming Files, Paths, and Namespaces", read 2026-11.
	devicePattern = lazyregexp.New(`^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])$`)
)

func validTenant(name string) bool {
	return name == DefaultTenant || tenantPattern().MatchString(name) && !devicePattern().MatchString(name)
}

// Selects says whether the tenant may use a server that discovery has found. The servers in its own
// [tenants.NAME.servers] are always its own; of all others, Include and Exclude choose.
//
// A pattern of Exclude is also held against the name without the "@client" that discovery adds to the second of a
// name: who excludes "prod" does not mean to get it from elsewhere.
func (s Servers) Selects(server Server) bool {
	if slices.Contains(s.tenantsOwn, server.Name) {
		return true
	}
	included := len(s.Include) == 0
	for _, name := range server.Names() {
		if slices.ContainsFunc(s.Exclude, func(p string) bool { return matchesPlain(p, name) }) {
			return false
		}
		if _, doubted := server.Doubted[name]; doubted {
			continue
		}
		included = included || slices.ContainsFunc(s.Include, func(p string) bool { return matches(p, name) })
	}
	return included
}

// IdlePatterns are the patterns of the settings that fit none of these servers, each behind its key. What was to be
// kept out, or within restrictions, may be misspelt there. aliases are the servers' Python names, which policy.deny and
// confirm go by, too.
func (c Config) IdlePatterns(servers, aliases []string) (list []string) {
	return c.idle(servers, aliases, func(bool) bool { return true })
}

// IdleLimits are those of IdlePatterns that would forbid something, or restrict it.
func (c Config) IdleLimits(servers, aliases []string) (list []string) {
	return c.idle(servers, aliases, func(limits bool) bool { return limits })
}

// Permits are the patterns that may allow something of a server that has these names, each behind its key.
func (c Config) Permits(names []string) (list []string) {
	for _, setting := range []struct {
		key      string
		patterns []string
	}{{"expose", c.Expose}, {"policy.allow", c.Policy.Allow}, {"policy.approved", c.Policy.Approved}} {
		for _, pattern := range policy.Permits(setting.patterns, names) {
			list = append(list, fmt.Sprintf("%s: %q", setting.key, pattern))
		}
	}
	return list
}

func (c Config) idle(servers, aliases []string, wanted func(limits bool) bool) (list []string) {
	idle := func(patterns []string) []string {
		return slices.DeleteFunc(slices.Clone(patterns), func(pattern string) bool {
			return slices.ContainsFunc(
				servers,
				func(name string) bool { return matchesPlain(pattern, name) },
			)
		})
	}
	all := slices.Concat(servers, aliases)
	for _, setting := range []struct {
		key    string
		limits bool
		idle   []string
	}{
		{"mcp.sandbox", true, idle(c.Servers.Sandbox)},
		{"mcp.include", false, idle(c.Servers.Include)},
		{"mcp.exclude", true, idle(c.Servers.Exclude)},
		{"expose", false, policy.Idle(c.Expose, servers)},
		{"policy.allow", false, policy.Idle(c.Policy.Allow, servers)},
		{"policy.deny", true, policy.Idle(c.Policy.Deny, all)},
		{"policy.confirm", true, policy.Idle(c.Policy.Confirm, all)},
		{"policy.approved", false, policy.Idle(c.Policy.Approved, servers)},
	} {
		if !wanted(setting.limits) {
			continue
		}
		for _, pattern := range setting.idle {
			list = append(list, fmt.Sprintf("%s: %q", setting.key, pattern))
		}
	}
	return list
}

// Limits is a pattern that would keep a server out, or have it in a sandbox, if that had a name which is not known,
// behind its key; empty where no name would. settled says that mcp.sandbox would change nothing for it.
func (s Servers) Limits(server Server, settled bool) string {
	switch {
	case len(s.Exclude) > 0 && !slices.Contains(s.tenantsOwn, server.Name):
		return fmt.Sprintf("mcp.exclude: %q", s.Exclude[0])
	case len(s.Sandbox) > 0 && server.Command != "" && !settled:
		return fmt.Sprintf("mcp.sandbox: %q", s.Sandbox[0])
	}
	return ""
}

// LimitsNames says whether a limit goes by names, and not only by what servers say of tools.
func (p Policy) LimitsNames() bool {
	return len(policy.Idle(slices.Concat(p.Deny, p.Confirm), nil)) > 0
}

// matchesPlain is matches, of the name without "@client", too.
func matchesPlain(pattern, name string) bool {
	return matches(pattern, name) || matches(pattern, policy.PlainName(name))
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
