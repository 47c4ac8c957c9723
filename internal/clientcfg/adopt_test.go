package clientcfg

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"codemode/internal/config"
)

// TestTokens holds that a path and a URL are no tokens, and that nothing which could be one is taken for them.
func TestTokens(t *testing.T) {
	there := t.TempDir()
	s := config.Server{
		Env: map[string]string{
			"API_KEY": "hush-hush", "PLAINLY": "a-word-in-doubt", "SECRET_PATH": "/not/there",
			"SLASHED": "/aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3g", "WITH_USER": "https://me:pass@example.com/",
			"WITH_QUERY": "https://example.com/?k=hushhush", "HOOK": "https://example.com/T0aB3dE6gH9jK2mN5pQ8",
			"GOOGLE_APPLICATION_CREDENTIALS": there, "DATA": "/srv/data/of mine", "HOME_DATA": "~/data/x",
			"BASE": "https://api.example.com:8443/v1/things", "DRIVE": `C:\Users\me\data`, "SHORT": "x",
		},
		Headers: map[string]string{"Authorization": "Bearer hush-hush"},
	}
	want := []string{
		"API_KEY", "Authorization", "HOOK", "PLAINLY", "SECRET_PATH", "SLASHED", "WITH_QUERY", "WITH_USER",
	}
	if got := slices.Sorted(maps.Keys(Tokens(s))); !slices.Equal(got, want) {
		t.Errorf("%q, want %q; %s is there", got, want, filepath.ToSlash(there))
	}
}
