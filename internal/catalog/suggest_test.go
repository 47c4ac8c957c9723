package catalog

import (
	"strings"
	"testing"
)

func TestSuggest(t *testing.T) {
	servers := []string{"github", "gitlab", "filesystem", "memory", "my-server", "a"}
	for typed, want := range map[string]string{
		"githb": "github", "gihtub": "github", "GitHub": "github", "my_server": "my-server", "memroy": "memory",
		"file": "filesystem", "fsystem": "filesystem", "zzz": "", "": "", "xy": "", "gitlub": "github", "日本": "", "b": "", "A": "a",
	} {
		if got := Suggest(typed, servers); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", typed, got, want)
		}
	}
	if got := Suggest(strings.Repeat("github", 10<<20), servers); got != "" {
		t.Errorf("a name of 60 MiB is like %q", got)
	}
	if got := Suggest("x", nil); got != "" {
		t.Errorf("Suggest among nothing = %q", got)
	}
	for typed, want := range map[string]string{"ad": "add", "re": "", "en": "enable"} {
		if got := Suggest(typed, []string{"add", "refresh", "remove", "enable"}); got != want {
			t.Errorf("Suggest(%q), the beginning of a command = %q, want %q", typed, got, want)
		}
	}
	if got := Suggest("--timout", []string{"--timeout", "--tenant"}); got != "--timeout" {
		t.Errorf("Suggest of a flag = %q", got)
	}
}
