package commands

import (
	"strings"
	"testing"
)

// TestPlainURL takes URLs that show where they lead, in the one spelling that they have.
func TestPlainURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://mcp.sentry.dev/mcp": "", "https://a.example": "", "https://a.example/": "",
		"http://127.0.0.1:8080/mcp/": "", "https://[::1]:8443/mcp?x=1": "", "https://a.example/a%20b": "",
		"https://a.example/${ID}/mcp": "", "https://x-1.example:8443/.well/a..b": "",
		"https://bank.example@evil.example/mcp": "a user's name",
		"https://\u0430pple.com/mcp":            "characters that no URL has",
		"https://a.example/\u2028mcp":           "characters that no URL has",
		"https:///mcp":                          "no http or https URL with a host",
		"https://:443/mcp":                      "no http or https URL with a host",
		"ftp://a.example/":                      "no http or https URL",
		"https://${HOST}/mcp":                   "no http or https URL",
		"https://$HOST/mcp":                     "must name its host",
		"https://A.example/mcp":                 "its host in another way",
		"https://a.example./mcp":                "its host in another way",
		"https://a.example:443/mcp":             "its host in another way",
		"https://a.example:/mcp":                "its host in another way",
		"http://127.1/mcp":                      "its host in another way",
		"http://2130706433/mcp":                 "its host in another way",
		"http://0x7f.0.0.0x1/mcp":               "its host in another way",
		"http://[0:0:0:0:0:0:0:1]/mcp":          "its host in another way",
		"http://[::ffff:127.0.0.1]/mcp":         "its host in another way",
		"https://a.example/mcp#x":               "a fragment",
		"https://a.example/x/../mcp":            "its path in another way",
		"https://a.example/./mcp":               "its path in another way",
		"https://a.example//mcp":                "its path in another way",
		"https://a.example/mcp//":               "its path in another way",
		"https://a.example/%6dcp":               "its path in another way",
		"https://a.example/x/%2e%2e/mcp":        "its path in another way",
	} {
		err := plainURL(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestPlainlySpelled is about the rest of an entry.
func TestPlainlySpelled(t *testing.T) {
	for want, fields := range map[string]map[string]any{
		"a command or a URL, not both": {"command": "true", "url": "https://a.example/"},
		"a reference has no default":   {"command": "npx", "args": []any{"-y", "${X:-@fake/pack}"}},
		"has no default":               {"url": "${X:-https://a.example/}"},
	} {
		if err := plainlySpelled(fields); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", fields, err)
		}
	}
	fine := map[string]any{"command": "npx", "args": []any{"-y", "pack", "${KEY}", "a:-b"}, "env": map[string]any{"A": "${B:-c}"}}
	if err := plainlySpelled(fine); err != nil {
		t.Error(err)
	}
}
