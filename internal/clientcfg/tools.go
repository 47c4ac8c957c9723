package clientcfg

import (
	"slices"
	"strings"
)

// tools reads which of a server's tools are offered, where not all are, and which are not.
func tools(e *Entry, r *fields) {
	s := &e.Server
	s.ToolsAllow = r.list(
		"include_tools", "includeTools", "enabled_tools", "enabledTools", "available_tools", "allowedTools",
		"allowed_tools",
	)
	s.ToolsDeny = r.denied(
		"exclude_tools", "excludeTools", "disabled_tools", "disabledTools", "blockedTools", "blocked_tools",
	)
	// OpenClaw's own lists (its docs/cli/mcp.md and src/agents/agent-bundle-mcp-filter.ts, read 2026-11). An empty
	// "include" of it is no restriction.
	include, exclude, isTable := r.filter("toolFilter")
	if name, v, ok := r.find("toolFilter"); ok && !isTable {
		r.wrong(name, "a table of lists", v.place)
	}
	if len(include) > 0 {
		s.ToolsAllow = include
	}
	s.ToolsDeny = append(s.ToolsDeny, exclude...)
	// For Hermes "tools" is such a table, too (its website/docs/reference/mcp-config-reference.md, read 2026-11), and
	// an empty "include" offers nothing. What both lists name Hermes offers, and codemode does not: it is excluded.
	include, exclude, isTable = r.filter("tools")
	switch {
	case include != nil:
		s.ToolsAllow = include
	case !isTable && s.ToolsAllow == nil:
		s.ToolsAllow = r.list("tools")
	}
	s.ToolsDeny = append(s.ToolsDeny, exclude...)
	if len(s.ToolsAllow) == 1 && s.ToolsAllow[0] == "*" {
		s.ToolsAllow = nil
	}
	if i := slices.IndexFunc(s.ToolsAllow, isPattern); i >= 0 {
		note(e, "%q of its list of tools is a pattern, and codemode looks for names alone", s.ToolsAllow[i])
	}
}

func isPattern(tool string) bool { return strings.ContainsAny(tool, "*?[") }

// filter reads a table of two lists of tools. They may be called SERVER__TOOL, as OpenClaw shows them.
func (f *fields) filter(name string) (include, exclude []string, isTable bool) {
	_, v, _ := f.find(name)
	if _, isTable = v.value.(*object); !isTable {
		return nil, nil, false
	}
	inner := &fields{server: f.server, entry: v}
	include, exclude = inner.names("include"), inner.denied("exclude")
	if f.err == nil {
		f.err, f.at = inner.err, inner.at
	}
	return f.unprefixed(include), f.unprefixed(exclude), true
}

// unprefixed adds the own names of tools that are called by their server's, too.
func (f *fields) unprefixed(tools []string) []string {
	for _, name := range tools {
		if tool, ok := strings.CutPrefix(name, f.server+"__"); ok {
			tools = append(tools, tool)
		}
	}
	return tools
}

// denied reads lists of tools by all of these names. A pattern is an error: no tool is called so, and those that are
// meant would be offered.
func (f *fields) denied(names ...string) (tools []string) {
	for _, name := range names {
		list := f.names(name)
		if slices.ContainsFunc(list, isPattern) {
			v, _ := f.entry.get(name)
			f.wrong(name, "a list of names, without patterns", v.place)
		}
		tools = append(tools, list...)
	}
	return tools
}

// names reads a list of names, which in Hermes' files may be one alone.
func (f *fields) names(name string) []string {
	v, _ := f.entry.get(name)
	if one, ok := v.value.(string); ok {
		return []string{one}
	}
	return f.list(name)
}
