package bridge

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"codemode/internal/catalog"
	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/hint"
	"codemode/internal/visible"
)

// Unusable is a server that is configured and that code cannot be given. Err says why, and its hints what to do.
type Unusable struct {
	Name string
	Err  error
}

// maxUnusable bounds what a guest is told of them.
const maxUnusable = 64

// why is one line for whoever writes code, who can do nothing about it but tell the user.
func (u Unusable) why() string {
	text := u.Err.Error()
	if ways := hint.Of(u.Err); len(ways) > 0 {
		text += "; the user can: " + strings.Join(ways, ", ")
	}
	return visible.Text(visible.Clip(strings.Join(strings.Fields(text), " "), maxNote))
}

// withUnusable is the set and, beside it, the servers that cannot be used and are called as none of the others.
func (set *serverSet) withUnusable(list []Unusable) *serverSet {
	for _, u := range list {
		if _, usable := set.find(u.Name); !usable && len(set.unusable) < maxUnusable {
			set.unusable = append(set.unusable, u)
		}
	}
	return set
}

// unusableNamed is the server of that name or Python name that is there and cannot be used.
func (set *serverSet) unusableNamed(name string) (Unusable, bool) {
	for _, u := range set.unusable {
		if name == u.Name || name == pythonName(u.Name) {
			return u, true
		}
	}
	return Unusable{}, false
}

// unusableEntries are these servers as the guest knows them. The list is never nil: an empty one takes back what was
// told.
func (set *serverSet) unusableEntries() []guest.Unusable {
	entries := make([]guest.Unusable, 0, len(set.unusable))
	for _, u := range set.unusable {
		entries = append(entries, guest.Unusable{Name: u.Name, Alias: pythonName(u.Name), Why: u.why()})
	}
	slices.SortFunc(entries, func(a, b guest.Unusable) int { return cmp.Compare(a.Name, b.Name) })
	return entries
}

func pythonName(server string) string { return catalog.Aliases([]string{server})[server] }

// sameUnusable compares what is told of them.
func sameUnusable(a, b *serverSet) bool {
	return reflect.DeepEqual(a.unusableEntries(), b.unusableEntries())
}

// newSet makes a set of what Options and Update are given.
func newSet(servers []config.Server, unusable []Unusable) *serverSet {
	return newServerSet(servers).withUnusable(unusable)
}
