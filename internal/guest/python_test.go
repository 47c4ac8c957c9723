//go:build unix

package guest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codemode/internal/require"
)

// interpreters returns the Python interpreters to test with: python3 and the newest there is.
func interpreters(t testing.TB) []string {
	t.Helper()
	candidates := []string{"python3", "python3.14", "python3.13", "python3.12"}
	if cache, err := os.UserCacheDir(); err == nil {
		unpacked, _ := filepath.Glob(filepath.Join(cache, "codemode", "python", "*", "bin", "python3"))
		candidates = append(candidates, unpacked...)
	}
	var first, newest, newestVersion string
	for _, candidate := range candidates {
		const about = `import sys; print("%03d.%03d" % sys.version_info[:2], sys.executable)`
		out, err := exec.CommandContext(t.Context(), candidate, "-I", "-S", "-c", about).Output()
		version, path, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
		if err != nil || !ok {
			continue // a shim without the interpreter behind it
		}
		if first == "" {
			first = path
		}
		if version > newestVersion {
			newest, newestVersion = path, version
		}
	}
	if first == "" {
		require.Lacking(t, "python", "no python3 on PATH")
	}
	return slices.Compact([]string{first, newest})
}

// TestPython runs the unit tests of the core and of the mcp package, testdata/python/**/test_*.py, with every
// interpreter.
func TestPython(t *testing.T) {
	if testing.Short() {
		t.Skip("Python's own concurrency is not what the race detector watches")
	}
	pythons := interpreters(t)
	// The tests are copied here, for go test caches a result unless the test itself has read what it depends on.
	dir := t.TempDir()
	if err := os.CopyFS(dir, Files()); err != nil {
		t.Fatal(err)
	}
	core, _ := filepath.Glob("testdata/python/*.py") // of patterns that are right
	ofMCP, _ := filepath.Glob("testdata/python/mcp/*.py")
	tests := slices.Concat(core, ofMCP)
	if len(core) == 0 || len(ofMCP) == 0 {
		t.Fatalf("no tests: %q", tests)
	}
	for _, test := range tests {
		source, err := os.ReadFile(test)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(test)), source, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, python := range pythons {
		for _, test := range tests {
			name := strings.TrimSuffix(filepath.Base(test), ".py")
			if !strings.HasPrefix(name, "test_") {
				continue // what tests share
			}
			t.Run(filepath.Base(python)+"/"+name, func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), python, "-B", "-X", "dev", "-m", "unittest", "-b", name)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}
