package commands

import (
	"fmt"
	"maps"
	"slices"

	"codemode/internal/catalog"
	"codemode/internal/clientcfg"
)

// mistaken is the reason why a server is withheld while an entry has a mistake that may be one with its own, if it is:
// another program may start the entry as it is, and what is said of that by name would be lost.
func (t *tenancy) mistaken(e clientcfg.Entry) string {
	if len(e.Perhaps) == 0 {
		return ""
	}
	names := e.Server.Names()
	without := t.limitsBeside(names)
	for _, m := range e.Perhaps {
		about := fmt.Sprintf(
			"%q in %q may start the same, and has a mistake: mend that entry, or remove it", m.Written, m.File,
		)
		with := t.limitsBeside(append(slices.Clone(names), m.Name))
		for _, limit := range without {
			if !slices.Contains(with, limit) {
				return fmt.Sprintf("%s may be about it: %s", limit, about)
			}
		}
		if m.Restricts && e.Restrictions == nil && !isOwn(e) {
			return "it may be restricted: " + about
		}
	}
	return ""
}

// limitsBeside are the patterns that limit something, and not a server of these names, which code may call by more.
func (t *tenancy) limitsBeside(names []string, aliases ...string) []string {
	return t.config.IdleLimits(names, append(aliases, slices.Collect(maps.Values(catalog.Aliases(names)))...))
}
