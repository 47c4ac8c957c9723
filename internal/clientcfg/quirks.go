package clientcfg

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Here is what single programs keep in their files beside a table of servers.

// switchOff is a server of the same client that another place of it switches off.
type switchOff struct {
	name   string
	scope  Scope // of the entries that are meant; empty is any
	by     string
	except []string // where not nil, every server but these is meant
}

func (off switchOff) means(e *Entry) bool {
	if off.except != nil {
		return !slices.Contains(off.except, e.Written)
	}
	return off.name == e.Written && (off.scope == "" || off.scope == e.Scope)
}

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
	case path[0] == "projects" &&
		!slices.Contains([]string{"mcpServers", "disabledMcpServers", "disabledMcpjsonServers"}, path[2]):
		return drop
	case path[0] == "projects", f.client.Bare:
		return keepIt
	case path[0] == f.key[0],
		slices.Contains([]string{"client", "description", "mcp", "mcpServers", "servers"}, path[0]):
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
		f.switchedOff(m.value, "disabledMcpServers", "")
		f.switchedOff(m.value, "disabledMcpjsonServers", Project)
	}
	f.scope, f.project = scope, project
}

// otherProjects reads what is for projects elsewhere, for those who want to see it.
func (f *file) otherProjects(projects *object) {
	for _, m := range projects.members {
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

func (f *file) switchedOff(project node, key string, scope Scope) {
	v, _ := project.get(key)
	names, _ := v.texts()
	for _, name := range names {
		f.off = append(f.off, switchOff{name: name, scope: scope, by: f.path})
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

// geminiLists switches off what mcp.allowed and mcp.excluded leave out, in this file and in the client's others, whose
// settings it puts over one another.
func (f *file) geminiLists(entries []Entry) {
	allowed, limited := f.root.at("mcp", "allowed")
	excluded, _ := f.root.at("mcp", "excluded")
	allow, limited2 := allowed.texts()
	deny, _ := excluded.texts()
	for _, name := range deny {
		f.off = append(f.off, switchOff{name: name, by: f.path})
	}
	if limited && limited2 {
		f.off = append(f.off, switchOff{except: allow, by: f.path})
	}
	for i := range entries {
		e := &entries[i]
		switch {
		case slices.Contains(deny, e.Written):
			e.Server.Disabled, e.Reason = true, `"mcp.excluded" names it`
		case limited && limited2 && !slices.Contains(allow, e.Written) && e.Status == Ready:
			e.Server.Disabled, e.Reason = true, `"mcp.allowed" does not name it`
		}
	}
}
