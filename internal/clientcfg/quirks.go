package clientcfg

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Here is what single programs keep in their files beside a table of servers.

// beside are the members of a file that are read beside its table of servers.
var beside = []string{
	"client", "description", "mcp", "mcpServers", "servers", "disabledServers", "amp.mcpPermissions",
	"allowMCPServers", "excludeMCPServers",
}

// inProjects is what is read of each folder that Claude Code has something for.
var inProjects = []string{"mcpServers", "disabledMcpServers", "disabledMcpjsonServers"}

// keep says what of a large file is looked at.
func (f *file) keep(path []string) verdict {
	switch {
	case path[0] == "projects" && len(path) == 1:
		return lookInside
	case path[0] == "projects" && len(path) == 2:
		if f.env.AllProjects || f.covers(path[1]) {
			return lookInside
		}
		return drop
	case path[0] == "projects" && !slices.Contains(inProjects, path[2]):
		return drop
	case path[0] == "projects", f.client.Bare:
		return keepIt
	case path[0] == f.key[0], slices.Contains(beside, path[0]):
		return keepIt
	}
	return drop
}

// openCodeV2 is mcp.servers, which is a table, not a server of that name.
func openCodeV2(table node) (node, bool) {
	inner, ok := table.get("servers")
	if _, isServer := inner.get("type"); !ok || isServer {
		return node{}, false
	}
	_, isObject := inner.value.(*object)
	return inner, isObject
}

// claudeProjects reads what ~/.claude.json holds for the projects around the working directory, the innermost
// first.
func (f *file) claudeProjects() {
	projects, _ := f.root.get("projects")
	o, _ := projects.value.(*object)
	if o == nil {
		return
	}
	var around []member
	for _, m := range o.members {
		if _, ok := m.value.value.(*object); ok && f.covers(m.name) {
			around = append(around, m)
		}
	}
	slices.SortStableFunc(around, func(a, b member) int { return len(b.name) - len(a.name) })
	scope, project := f.scope, f.project
	if f.env.AllProjects {
		f.otherProjects(o)
	}
	for _, m := range around {
		if servers, ok := m.value.get("mcpServers"); ok {
			f.scope, f.project = Local, filepath.FromSlash(m.name)
			f.table(servers, "mcpServers")
		}
		f.offByName(m.value, "", "disabledMcpServers")
		f.offByName(m.value, Project, "disabledMcpjsonServers")
	}
	f.scope, f.project = scope, project
}

// otherProjects reads what is for projects elsewhere, for those who want to see it, and notes for which there is any.
func (f *file) otherProjects(projects *object) {
	for _, m := range projects.members {
		for _, name := range inProjects {
			if of, _ := m.value.get(name); !of.isEmpty() {
				f.folders = append(f.folders, filepath.FromSlash(m.name))
				break
			}
		}
		servers, ok := m.value.get("mcpServers")
		if _, isObject := servers.value.(*object); !ok || !isObject || f.covers(m.name) {
			continue
		}
		first := len(f.entries)
		f.scope, f.project = Local, filepath.FromSlash(m.name)
		f.table(servers, "mcpServers")
		for i := first; i < len(f.entries); i++ {
			e := &f.entries[i]
			e.mistaken = false
			if e.Status != Invalid {
				e.Status, e.Reason = Elsewhere, fmt.Sprintf("it is for the project %q", m.name)
			}
		}
	}
}

// covers says whether a project's folder is the working directory or above it. Claude Code writes Windows'
// folders in several ways.
func (f *file) covers(folder string) bool {
	clean := func(path string) string {
		if f.env.OS == "windows" {
			path = strings.ToLower(strings.ReplaceAll(path, `\`, "/"))
		}
		return strings.TrimRight(path, "/") + "/"
	}
	return f.env.WorkDir != "" && f.env.isAbs(folder) && strings.HasPrefix(clean(f.env.WorkDir), clean(folder))
}
