package servers

import (
	"encoding/json"
	"strings"
	"testing"

	"codemode/internal/catalog"
	"codemode/internal/config"
	"codemode/internal/policy"
)

// TestAliasDenied holds that a rule with a tool's Python name goes on to hold for it when its server has another tool
// that takes the name.
func TestAliasDenied(t *testing.T) {
	rules := policy.Rules{Deny: []string{"al.delete_it"}, Confirm: []string{"al.drop_it"}}
	for name, list := range map[string][]string{
		"alone":            {"delete-it", "drop-it"},
		"beside others":    {"Delete_It", "delete-it", "DROP IT", "drop-it"},
		"beside namesakes": {"delete.it", "delete-it", "delete_it", "drop.it", "drop-it"},
	} {
		var tools []json.RawMessage
		for _, tool := range list {
			tools = append(tools, json.RawMessage(`{"name":"`+tool+`","inputSchema":{"type":"object"}}`))
		}
		server := catalog.NewServer("al", "al", "", tools)
		for _, tool := range server.Tools {
			d := rules.Decide(policyCall(server, tool, config.Server{}))
			if denied := strings.HasPrefix(strings.ToLower(tool.Name), "delete"); d.Denied != denied || d.Ask == denied {
				t.Errorf("%s: %q, which Python calls %q: %+v", name, tool.Name, tool.Alias, d)
			}
		}
	}
}

// TestOtherNames holds that a rule with the name of an entry that is one with a server's own holds for that server.
func TestOtherNames(t *testing.T) {
	also := []string{"tracker", "my-tracker@cursor"}
	server := catalog.NewServer("trk", "trk", "", []json.RawMessage{json.RawMessage(`{"name":"run"}`)})
	call := policyCall(server, server.Tools[0], config.Server{Also: also})
	for _, pattern := range []string{"trk.run", "tracker.run", "my-tracker.*", "my_tracker_cursor.run"} {
		if d := (policy.Rules{Deny: []string{pattern}}).Decide(call); !d.Denied {
			t.Errorf("deny %q: %+v", pattern, d)
		}
		if d := (policy.Rules{Confirm: []string{pattern}}).Decide(call); !d.Ask {
			t.Errorf("confirm %q: %+v", pattern, d)
		}
	}
	for pattern, denied := range map[string]bool{"trk.run": false, "tracker.run": false, "my-tracker.run": true} {
		if d := (policy.Rules{Allow: []string{pattern}}).Decide(call); d.Denied != denied {
			t.Errorf("allow %q: %+v", pattern, d)
		}
	}
}
