package commands

import (
	"fmt"
	"slices"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/install"
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
		if rule := s.tenancy.loosened([]string{name}, []string{m.Name, m.Name + "@" + r.Client}); rule != "" {
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
