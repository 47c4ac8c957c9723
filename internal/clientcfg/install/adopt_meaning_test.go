package install

import (
	"strings"
	"testing"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
)

// TestFound: a server stays that code is not given now, since another file of its client's switches it off, or its
// client is not read.
func TestFound(t *testing.T) {
	entry := func(client string, scope clientcfg.Scope, off bool) clientcfg.Entry {
		return clientcfg.Entry{
			Written: "a", Client: client, Scope: scope, Server: config.Server{Disabled: off}, Reason: "a list",
		}
	}
	user, project := entry("cursor", clientcfg.User, false), entry("cursor", clientcfg.Project, false)
	for _, c := range []struct {
		e, named clientcfg.Entry
		want     string
	}{
		{user, user, ""},
		{user, entry("cursor", clientcfg.User, true), "switched off (a list)"},
		{user, entry("zed", clientcfg.User, false), "discovery.sources"},
		{project, project, ""},
		{project, entry("cursor", clientcfg.Project, true), "switched off (a list)"},
		{project, user, ""}, // one that codemode does not have needs an approval first
	} {
		a := &Adopter{Named: func() []clientcfg.Entry { return []clientcfg.Entry{{Written: "b"}, c.named} }}
		if err := a.found(c.e); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s's among %s's: %v, want %q", c.e.Scope, c.named.Scope, err, c.want)
		}
	}
}
