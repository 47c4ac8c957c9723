package commands

import (
	"fmt"
	"maps"
	"slices"

	"codemode/internal/catalog"
	"codemode/internal/clientcfg"
	"codemode/internal/config"
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

// limitsBeside are the patterns that limit something, and not a server of these names.
func (t *tenancy) limitsBeside(names []string) []string {
	return t.config.IdleLimits(names, slices.Collect(maps.Values(catalog.Aliases(names))))
}

// loosens is why an entry of a client's file stays there: a limit of a tenant's is about it by a name that it has, and
// would not be about it as codemode would call it among its own. Of entries that are one server each must be limited
// for itself: they need not be one any more once a token of one has become a secret. Empty is that it can go.
func (t *tenancy) loosens(e clientcfg.Entry, as string) string {
	names := func(e clientcfg.Entry) []string { return []string{e.Written, e.Written + "@" + e.Client} }
	twins, all := t.twins(e), names(e)
	for _, twin := range twins {
		all = append(all, names(twin)...)
	}
	if limit := t.loosened(all, []string{as}); limit != "" {
		return fmt.Sprintf("%s would not hold for %q, as it would be called: another of your servers has its name, or "+
			"starts the same", limit, as)
	}
	for _, twin := range twins {
		if isOwn(twin) && twin.Written == as { // which is what remains of the two
			continue
		}
		limit := t.loosened(all, names(twin))
		if twin.Restrictions != nil && t.config.Servers.RestrictionsOf(config.Server{Name: as}) == nil {
			limit = "the sandbox that one of the two asks for"
		}
		if limit != "" {
			return fmt.Sprintf("%s might not hold any more for %s, which starts the same", limit, quote(twin.Written))
		}
	}
	if tenant := t.tenantWithout(e); tenant != "" {
		return fmt.Sprintf("tenant %q does not have it, and would", tenant)
	}
	return ""
}

// tenantWithout is a tenant that has not got an entry of a client's file, by its discovery.sources or for want of
// an approval, and would read it among codemode's own; empty is none.
func (t *tenancy) tenantWithout(e clientcfg.Entry) string {
	for _, of := range t.withoutFlags(t.config.Tenants, t.env.Dir) {
		if of.config.Servers.Dir != t.config.Servers.Dir {
			continue
		}
		of.look()
		of.judge()
		has := func(x clientcfg.Entry) bool { return isSameEntry(x, e) && x.Status != clientcfg.NeedsApproval }
		if !slices.ContainsFunc(of.found.Entries, has) {
			return of.config.Tenant
		}
	}
	return ""
}

// isSameEntry says whether two are one entry of one file.
func isSameEntry(a, b clientcfg.Entry) bool {
	return a.Client == b.Client && a.Scope == b.Scope && a.Written == b.Written && a.Server.Source == b.Server.Source
}

// twins are the other entries that are one server with an entry of a client's file.
func (t *tenancy) twins(e clientcfg.Entry) (list []clientcfg.Entry) {
	server := func(e clientcfg.Entry) string {
		if e.Status == clientcfg.Duplicate {
			return e.Of
		}
		return e.Server.Name
	}
	name := ""
	for _, x := range t.found.Entries {
		if isSameEntry(x, e) {
			name = server(x)
		}
	}
	for _, x := range t.found.Entries {
		switch x.Status {
		case clientcfg.Invalid, clientcfg.SelfReference, clientcfg.Elsewhere, clientcfg.NeedsApproval,
			clientcfg.Shadowed:
		default:
			if name != "" && server(x) == name && !isSameEntry(x, e) {
				list = append(list, x)
			}
		}
	}
	return list
}

// loosened is a limit of a tenant's that is about a server by one of the first names, and by none of the others.
func (t *tenancy) loosened(now, then []string) string {
	for _, of := range t.withoutFlags(t.config.Tenants, t.env.Dir) {
		beside := of.limitsBeside(now)
		for _, limit := range of.limitsBeside(then) {
			if !slices.Contains(beside, limit) {
				return limit
			}
		}
	}
	return ""
}
