package servers

import (
	"encoding/json"
	"strings"
	"testing"

	"codemode/internal/catalog"
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
			d := rules.Decide(policyCall(server, tool))
			if denied := strings.HasPrefix(strings.ToLower(tool.Name), "delete"); d.Denied != denied || d.Ask == denied {
				t.Errorf("%s: %q, which Python calls %q: %+v", name, tool.Name, tool.Alias, d)
			}
		}
	}
}
