package servers

import (
	"maps"
	"reflect"
	"slices"

	"codemode/internal/catalog"
	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/visible"
)

// Set is the servers as they are configured at one time. It never changes.
type Set struct {
	All      []config.Server   // in the order of configuration
	Alias    map[string]string // name -> alias
	Unusable []Unusable        // whose names are none of these
	Others   []config.Server   // that code is not given, whose values are secret all the same
	Unread   string            // a file whose servers, and their secrets, are not known; there may be none

	byName, byAlias map[string]int // where in All
}

func newServerSet(all []config.Server, unusable []Unusable) *Set {
	var kept []config.Server
	for _, u := range unusable {
		if u.Own {
			kept = append(kept, config.Server{Name: u.Name, Own: u.First})
		}
	}
	set := &Set{All: all, Alias: Aliases(all, kept...), byName: map[string]int{}, byAlias: map[string]int{}}
	for i, c := range all {
		set.byName[c.Name], set.byAlias[set.Alias[c.Name]] = i, i
	}
	return set
}

// Always is the find of an inventory of servers that are known.
func Always(all ...config.Server) func() *Set { return func() *Set { return NewSet(all, nil) } }

// Aliases are the Python names of servers. Those of other programs give way to codemode's own, and those of a project
// to all of its user's, also to those kept for servers that are not among all: code that was written for one must not
// reach another while it cannot be used.
func Aliases(all []config.Server, kept ...config.Server) map[string]string {
	var own, programs, projects []string
	for _, c := range slices.Concat(kept, all) {
		switch {
		case c.Project != "":
			projects = append(projects, c.Name)
		case c.Own:
			own = append(own, c.Name)
		default:
			programs = append(programs, c.Name)
		}
	}
	aliases := catalog.Aliases(own, programs, projects)
	named := map[string]bool{}
	for _, c := range all {
		named[c.Name] = true
	}
	maps.DeleteFunc(aliases, func(name, _ string) bool { return !named[name] })
	return aliases
}

// Find returns the server of that name or, failing that, alias.
func (set *Set) Find(name string) (config.Server, bool) {
	if c, ok := set.Named(name); ok {
		return c, true
	}
	return set.at(set.byAlias, name)
}

// Named returns the server of that name.
func (set *Set) Named(name string) (config.Server, bool) {
	return set.at(set.byName, name)
}

func (set *Set) at(places map[string]int, name string) (config.Server, bool) {
	if i, ok := places[name]; ok {
		return set.All[i], true
	}
	return config.Server{}, false
}

// has says whether the entry is still the one that a caller was given.
func (set *Set) has(c config.Server) bool {
	now, ok := set.Named(c.Name)
	return ok && reflect.DeepEqual(now, c)
}

// Names are those of the servers that can be used.
func (set *Set) Names() []string {
	names := make([]string, 0, len(set.All))
	for _, c := range set.All {
		names = append(names, c.Name)
	}
	return names
}

// entry is a server as the guest sees it before its tools are known. Its description is shown as help, to a terminal.
func (set *Set) entry(c config.Server) guest.Server {
	return guest.Server{
		Name: c.Name, Alias: set.Alias[c.Name], Description: visible.Text(c.Description), Cwd: c.Cwd,
	}
}

// Changes names the servers that an update has touched.
type Changes struct {
	Added, Removed, Changed []string
}

// None says whether nothing has changed.
func (c Changes) None() bool { return len(c.Added)+len(c.Removed)+len(c.Changed) == 0 }

// changes compares two sets. A server whose alias has changed has changed.
func changes(before, after *Set) (c Changes) {
	for _, s := range after.All {
		switch {
		case before.Alias[s.Name] == "":
			c.Added = append(c.Added, s.Name)
		case !before.has(s) || before.Alias[s.Name] != after.Alias[s.Name]:
			c.Changed = append(c.Changed, s.Name)
		}
	}
	for _, s := range before.All {
		if after.Alias[s.Name] == "" {
			c.Removed = append(c.Removed, s.Name)
		}
	}
	return c
}

// Update makes a set what is configured, and says what that changes. A server that would start as before keeps its
// process, calls under way bring their results, and every guest is told before its next run. A run under way finds a
// changed server as it is now; to one that is gone its calls are refused. One goroutine at a time may call it, and
// nobody after the pool is closed.
func (s *Inventory) Update(set *Set) Changes {
	before := s.Configured()
	c := changes(before, set)
	if c.None() {
		if !sameUnusable(before, set) || before.Unread != set.Unread {
			s.mu.Lock()
			s.set = set
			s.mu.Unlock()
		}
		s.pool.KeepSecret(set.Others)
		return c
	}
	s.lists.Flush(before.All)
	s.pool.Update(set.All) // first, so that nobody gets the tools of the old process for the new entry
	s.pool.KeepSecret(set.Others)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set, s.index = set, nil
	for _, names := range [][]string{c.Changed, c.Removed} {
		for _, name := range names {
			delete(s.known, name)
			delete(s.recalled, name)
			s.epoch[name]++
			s.lists.forget(name)
		}
	}
	return c
}
