package commands

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNumbered: a name stays within what a file system takes.
func TestNumbered(t *testing.T) {
	long := strings.Repeat("é", 127) + "x"
	for _, name := range []string{"a.csv", "sub/a", long, "a." + long[:200]} {
		got := numbered(name, 12)
		if len(filepath.Base(got)) > maxElement || !strings.Contains(got, "-12") || filepath.Dir(got) != filepath.Dir(name) {
			t.Errorf("the twelfth %q is %q", name, got)
		}
	}
}
