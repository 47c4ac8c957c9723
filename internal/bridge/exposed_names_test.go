package bridge

import (
	"regexp"
	"strings"
	"testing"
)

// TestExposedNames holds that a name belongs to one tool of one server, whatever else is listed, and that models'
// services take it.
func TestExposedNames(t *testing.T) {
	want(t, exposedName("github", "create_issue"), "github__create_issue")
	want(t, exposedName("my-files", "read-file"), "my-files__read-file")
	long := strings.Repeat("x", 70)
	parts := []string{
		"a", "b", "a_b", "b_c", "_a", "a_", "a__b", "a___b", "a-b", "a.b", "é", "", "1", "-", "run_python", long, long + "y",
	}
	of := map[string][2]string{"run_python": {}}
	for _, server := range parts {
		for _, tool := range parts {
			name := exposedName(server, tool)
			if other, taken := of[name]; taken {
				t.Errorf("%q is the name of %q and of %q", name, [2]string{server, tool}, other)
			}
			of[name] = [2]string{server, tool}
			if !regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`).MatchString(name) {
				t.Errorf("%q", name)
			}
		}
	}
	// A name with a checksum, listed by a server as its own.
	server, tool, _ := strings.Cut(exposedName("a.b", "c"), "__")
	if got := exposedName(server, tool); got == exposedName("a.b", "c") {
		t.Errorf("%q is the name of two tools", got)
	}
}
