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
	e := clientcfg.Entry{Written: "a", Client: "cursor", Scope: clientcfg.User}
	off := e
	off.Server, off.Reason = config.Server{Disabled: true}, "a list"
	for want, named := range map[string][]clientcfg.Entry{
		"": {{Written: "b"}, e}, "switched off (a list)": {off}, "discovery.sources": {{Written: "a", Client: "zed"}},
	} {
		a := &Adopter{Named: func() []clientcfg.Entry { return named }}
		if err := a.found(e); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
