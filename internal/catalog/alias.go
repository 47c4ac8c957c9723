package catalog

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Aliases returns the Python name of each server. A name never depends on the order the servers come in. Those of a
// later list give way to those of the ones before: what came with a project must not be called what its user's own
// server was.
//
// The server called "servers" cannot have its own name, because mcp_servers is all of them.
func Aliases(lists ...[]string) map[string]string {
	aliases, taken := map[string]string{}, map[string]bool{}
	for _, names := range lists {
		wanted := unique(names, serverAlias)
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			if _, named := aliases[name]; named {
				continue
			}
			alias := wanted[name]
			for n := 2; taken[alias]; n++ {
				alias = serverAlias(name) + "_" + strconv.Itoa(n)
			}
			aliases[name], taken[alias] = alias, true
		}
	}
	return aliases
}

// ServerAliases are what a rule may call a server in Python: its alias, and what that would be if no other one had it,
// also by its other names.
func ServerAliases(name, alias string, others ...string) []string {
	list := []string{alias, serverAlias(name)}
	for _, other := range others {
		list = append(list, serverAlias(other))
	}
	return list
}

// ToolAliases are the same of a tool: a server may at any time have another one that takes the name.
func ToolAliases(name, alias string) []string { return []string{alias, identifier(name)} }

func serverAlias(name string) string {
	if alias := identifier(name); alias != "servers" {
		return alias
	}
	return "servers_"
}

// toolAliases returns the Python name of each tool of one server.
func toolAliases(names []string) map[string]string { return unique(names, identifier) }

// parameterNames returns the Python name of each property. A key that is a Python name already stays as it is.
func parameterNames(keys []string) map[string]string { return unique(keys, parameterName) }

// unique gives every name an alias of its own: where several share one, the name that is the alias has it, or the first
// in the order of names, and the others get a number. A numbered alias never takes what another name has a right to.
func unique(names []string, alias func(string) string) map[string]string {
	taken, bases := make(map[string]bool, len(names)), make(map[string]string, len(names))
	for _, name := range names {
		bases[name] = alias(name)
		taken[bases[name]] = true
	}
	names = slices.SortedFunc(maps.Keys(bases), func(a, b string) int {
		if is := bases[a] == a; is != (bases[b] == b) {
			return map[bool]int{true: -1, false: 1}[is]
		}
		return strings.Compare(a, b)
	})
	aliases := make(map[string]string, len(names))
	used := make(map[string]bool, len(names))
	next := map[string]int{} // the number to try for a shared alias, so that many equal ones cost no search
	for _, name := range names {
		base := bases[name]
		a := base
		for n := max(next[base], 2); used[base] && taken[a]; n++ {
			a = base + "_" + strconv.Itoa(n)
			next[base] = n + 1
		}
		used[base], taken[a] = true, true
		aliases[name] = a
	}
	return aliases
}

// identifier is the alias rule for one name: lower case, every run of other characters becomes "_", a leading digit
// gets "_" before it, a keyword "_" after it. So does what looks like one of Python's own attributes
// (__class__), which no object can give away.
func identifier(name string) string {
	return legal(strings.ToLower(name))
}

// parameterName is the rule for parameters, which keep their case: perPage is how the tool's own
// documentation calls it.
func parameterName(key string) string {
	return legal(key)
}

func legal(name string) string {
	var b strings.Builder
	run := false // in a run of other characters
	for _, r := range name {
		word := r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		switch {
		case word:
			b.WriteRune(r)
		case !run:
			b.WriteByte('_')
		}
		run = !word
	}
	alias := b.String()
	switch {
	case alias == "":
		return "_"
	case alias[0] >= '0' && alias[0] <= '9':
		return "_" + alias
	case keywords[alias], len(alias) > 4 && strings.HasPrefix(alias, "__") && strings.HasSuffix(alias, "__"):
		return alias + "_"
	}
	return alias
}

// keywords are those of Python 3.9 to 3.14; soft keywords (match, type) are legal names.
// The list is keyword.kwlist, the same in 3.11 and 3.14 (2026-11).
var keywords = func() map[string]bool {
	set := map[string]bool{}
	for _, k := range strings.Fields(`False None True and as assert async await break class continue def del elif else
		except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield`) {
		set[k] = true
	}
	return set
}()
