package servers

import (
	"cmp"
	"fmt"
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

	Own   bool // it is the user's own, and keeps its Python name
	First bool // it comes before those of other programs
}

// maxWhy is how many bytes they are told of one.
const maxWhy = 2 << 10

// maxUnusable bounds what a guest is told of them.
const maxUnusable = 64

// Why is one line for the author of the code, who can only pass it on to the user.
func (u Unusable) Why() string {
	text := u.Err.Error()
	if ways := hint.Of(u.Err); len(ways) > 0 {
		text += "; the user can: " + strings.Join(ways, ", ")
	}
	return visible.Text(visible.Clip(strings.Join(strings.Fields(text), " "), maxWhy))
}

// withUnusable is the set and, beside it, the servers that cannot be used and are called as none of the others.
func (set *Set) withUnusable(list []Unusable) *Set {
	for _, u := range list {
		if _, usable := set.Find(u.Name); !usable && len(set.Unusable) < maxUnusable {
			set.Unusable = append(set.Unusable, u)
		}
	}
	return set
}

// UnusableNamed is the server of that name or Python name that is there and cannot be used.
func (set *Set) UnusableNamed(name string) (Unusable, bool) {
	for _, u := range set.Unusable {
		if name == u.Name || name == pythonName(u.Name) {
			return u, true
		}
	}
	return Unusable{}, false
}

// UnusableEntries are these servers as the guest knows them. The list is never nil: an empty one takes back what was
// told.
func (set *Set) UnusableEntries() []guest.Unusable {
	entries := make([]guest.Unusable, 0, len(set.Unusable))
	for _, u := range set.Unusable {
		entries = append(entries, guest.Unusable{Name: u.Name, Alias: pythonName(u.Name), Why: u.Why()})
	}
	slices.SortFunc(entries, func(a, b guest.Unusable) int { return cmp.Compare(a.Name, b.Name) })
	return entries
}

func pythonName(server string) string { return catalog.Aliases([]string{server})[server] }

// sameUnusable compares what is told of them.
func sameUnusable(a, b *Set) bool {
	return reflect.DeepEqual(a.UnusableEntries(), b.UnusableEntries())
}

// NewSet makes a set of what Options and Update are given.
func NewSet(servers []config.Server, unusable []Unusable) *Set {
	return newServerSet(servers, unusable).withUnusable(unusable)
}

// UnknownServerError is returned for a server that is not configured.
type UnknownServerError struct {
	Name    string
	Nearest string // the configured name that looks most like it, or empty
}

func (e *UnknownServerError) Error() string { return fmt.Sprintf("unknown server %q", e.Name) }

// Hint is the server that was meant, or where all are.
func (e *UnknownServerError) Hint() []string {
	if e.Nearest != "" {
		return hint.Meant(e.Nearest)
	}
	return []string{"there are: codemode servers"}
}
