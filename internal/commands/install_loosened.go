package commands

import (
	"fmt"
	"slices"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/install"
	"codemode/internal/config"
)

// warnLoosened tells of what held for a server as codemode has it, and does not for the entry that its client has back:
// a rule by codemode's name for it, and what the user has written into its file since it was adopted. The two are no
// longer one where the one has a token and the other refers to a secret.
func (s *installation) warnLoosened(r install.Result, m install.Moved) {
	if m.Original() {
		return
	}
	own, back := s.bothOf(r, m)
	if back.Status == clientcfg.Duplicate {
		return
	}
	as := []string{m.As}
	for _, e := range own {
		if !slices.Contains(as, e.Server.Name) {
			as = append(as, e.Server.Name)
		}
		for _, what := range narrower(e, back) {
			s.ui.warn(fmt.Sprintf(
				"%s %s, and %s of %s is not", quote(e.Server.Name), what, quote(m.Name), r.Client,
			))
		}
	}
	for _, name := range as {
		names := []string{name, name + "@mcps"} // of the folder that it was in
		if rule := s.tenancy.loosened(names, []string{m.Name, m.Name + "@" + r.Client}); rule != "" {
			s.ui.warn(fmt.Sprintf(
				"%s held for it as %s, and does not for %s of %s", rule, quote(name), quote(m.Name), r.Client,
			))
		}
	}
}

// bothOf are codemode's own entries of a server that its client has back, whatever they are called by now, and the
// client's.
func (s *installation) bothOf(r install.Result, m install.Moved) (own []clientcfg.Entry, back clientcfg.Entry) {
	ours := s.own() // looks anew
	for _, e := range s.tenancy.found.Entries {
		if e.Client == r.Client && e.Written == m.Name && e.Server.Source == r.Path {
			back = e
		}
	}
	for _, e := range ours {
		is := e.Server.Source == m.File && e.Written == m.As
		for _, t := range m.Tokens {
			is = is || slices.Contains(clientcfg.SecretNames(e.Server), t.Secret)
		}
		if is {
			own = append(own, e)
		}
	}
	return own, back
}

// narrower is in what an entry is more restricted than another.
func narrower(e, than clientcfg.Entry) (list []string) {
	if e.Server.Disabled && !than.Server.Disabled {
		list = append(list, "is switched off")
	}
	if e.Restrictions != nil && than.Restrictions == nil {
		list = append(list, "is in a sandbox")
	}
	a, b := e.Server, than.Server
	if !slices.Equal(a.ToolsAllow, b.ToolsAllow) || !slices.Equal(a.ToolsDeny, b.ToolsDeny) {
		list = append(list, "is limited to some tools")
	}
	return list
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
	return t.narrowedElsewhere(e)
}

// narrowedElsewhere is why an entry stays that another entry narrows: one that starts the same, in whichever file, or
// one of its name that its client has for a folder alone. As codemode's own it would be free of that.
func (t *tenancy) narrowedElsewhere(e clientcfg.Entry) string {
	for _, of := range t.withoutFlags([]string{t.config.Tenant}, t.env.Dir) { // which have all folders
		of.look()
		of.judge()
		twins := of.twins(e)
		for _, x := range of.found.Entries {
			local := x.Scope == clientcfg.Local && x.Client == e.Client
			same := clientcfg.SameServer(x, e) ||
				slices.ContainsFunc(twins, func(twin clientcfg.Entry) bool { return isSameEntry(twin, x) })
			where := fmt.Sprintf("%s in %s", quote(x.Written), x.Place())
			if local {
				where += " for " + quote(x.Server.Project)
			}
			switch {
			case isSameEntry(x, e), isOwn(x), x.Scope == clientcfg.Project:
			case local && !same && x.Written == e.Written:
				return "a folder has another of its name: " + where
			case !same:
			case local && x.Server.Disabled && !e.Server.Disabled:
				return "a folder has it switched off: " + where
			case x.Server.Sandbox != nil && e.Server.Sandbox == nil:
				return "it starts the same as what asks for a sandbox: " + where
			case hasLists(x) && !sameLists(x, e):
				return "it starts the same as what is limited to some tools: " + where
			}
		}
	}
	return ""
}

func hasLists(e clientcfg.Entry) bool {
	return e.Server.ToolsAllow != nil || len(e.Server.ToolsDeny) > 0
}

func sameLists(a, b clientcfg.Entry) bool {
	return slices.Equal(a.Server.ToolsAllow, b.Server.ToolsAllow) &&
		slices.Equal(a.Server.ToolsDeny, b.Server.ToolsDeny)
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
	return a.Client == b.Client && a.Scope == b.Scope && a.Written == b.Written &&
		a.Server.Source == b.Server.Source && a.Server.Project == b.Server.Project
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
