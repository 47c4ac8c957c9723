package artifact

import (
	"path/filepath"
	"testing"
)

// TestSafeName: what a program calls its files is obeyed by nothing that lists, completes or opens them.
func TestSafeName(t *testing.T) {
	for name, want := range map[string]string{
		"chart.svg": "chart.svg", "sub/a b.csv": "sub/a b.csv", "Ärger.txt": "Ärger.txt", ".bashrc": "_bashrc",
		".git/hooks/x": "_git/hooks/x", "-rf": "_rf", "~": "_", "a\x1b[2Jb\n": "a_[2Jb_", "\xff": "_", "a\u202eb": "a_b",
		`..\x`: "_._x", "c:x": "c_x", "a*?": "a__",
		"NUL": "_NUL", "sub/con.tar.gz": "sub/_con.tar.gz", "Com1 .txt": "_Com1 .txt", "lpt\u00b9": "_lpt\u00b9",
		"CONIN$": "_CONIN$", "console.txt": "console.txt", "com10": "com10", "auxiliary": "auxiliary", "a.": "a_", "b ": "b_",
		"HEAD": "_HEAD", "sub/head": "sub/_head", "headers": "headers",
		"GIT~1/hooks/x": "GIT_1/hooks/x", "sub/git~12.tx": "sub/git_12.tx", "a~b": "a~b",
		"longer-name~1": "longer-name~1",
	} {
		if got := SafeName(name); got != want || !filepath.IsLocal(got) {
			t.Errorf("%q is saved as %q, want %q", name, got, want)
		}
	}
}
