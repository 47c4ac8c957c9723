package clientcfg

import (
	"slices"
	"strings"
)

// tools reads which of a server's tools are offered, where not all are, and which are not.
func tools(e *Entry, r *fields) {
	s := &e.Server
	s.ToolsAllow = r.list(
		"include_tools", "includeTools", "enabled_tools", "available_tools", "allowedTools", "allowed_tools", "tools",
	)
	s.ToolsDeny = r.denied(
		"exclude_tools", "excludeTools", "disabled_tools", "disabledTools", "blockedTools", "blocked_tools",
	)
	// OpenClaw's own lists (its docs/cli/mcp.md and src/agents/agent-bundle-mcp-filter.ts, read 2026-11). An empty
	// "include" of it is no restriction.
	include, exclude := r.filter("toolFilter")
	if len(include) > 0 {
		s.ToolsAllow = include
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
func (f *fields) filter(name string) (include, exclude []string) {
	_, v, ok := f.find(name)
	if !ok {
		return nil, nil
	}
	if _, isTable := v.value.(*object); !isTable {
		f.wrong(name, "a table of lists", v.place)
		return nil, nil
	}
	inner := &fields{server: f.server, entry: v}
	include, exclude = inner.list("include"), inner.denied("exclude")
	if f.err == nil {
		f.err, f.at = inner.err, inner.at
	}
	return f.unprefixed(include), f.unprefixed(exclude)
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
		list := f.list(name)
		if slices.ContainsFunc(list, isPattern) {
			v, _ := f.entry.get(name)
			f.wrong(name, "a list of names, without patterns", v.place)
		}
		tools = append(tools, list...)
	}
	return tools
}
