package commands

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSafeName: what a program calls its files is obeyed by nothing that lists, completes or opens them.
func TestSafeName(t *testing.T) {
	for name, want := range map[string]string{
		"chart.svg": "chart.svg", "sub/a b.csv": "sub/a b.csv", "Ärger.txt": "Ärger.txt", ".bashrc": "_bashrc",
		".git/hooks/x": "_git/hooks/x", "-rf": "_rf", "~": "_", "a\x1b[2Jb\n": "a_[2Jb_", "\xff": "_", "a\u202eb": "a_b",
		`..\x`: "_._x", "c:x": "c_x", "a*?": "a__",
	} {
		if got := safeName(name); got != want || !filepath.IsLocal(got) {
			t.Errorf("%q is saved as %q, want %q", name, got, want)
		}
	}
	long := strings.Repeat("é", 127) + "x"
	for _, name := range []string{"a.csv", "sub/a", long, "a." + long[:200]} {
		got := numbered(name, 12)
		if len(filepath.Base(got)) > maxElement || !strings.Contains(got, "-12") || filepath.Dir(got) != filepath.Dir(name) {
			t.Errorf("the twelfth %q is %q", name, got)
		}
	}
}
