package plainfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codemode/internal/require"
)

func TestTrail(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	if err := errors.Join(
		os.MkdirAll(at("a/b"), 0o755), os.Mkdir(at("c"), 0o755), os.Symlink(filepath.Join("..", "c"), at("a/c")),
		os.Symlink(at("a/b"), at("c/up")), os.Symlink("loop", at("loop")),
		os.Symlink(filepath.Join("..", "c", "none"), at("a/gone")), os.Symlink(at("a/gone"), at("a/lost")),
	); err != nil {
		require.Lacking(t, "symlinks", "%v", err)
	}
	for path, want := range map[string]struct {
		real  string
		links []string
	}{
		"a/b":        {"a/b", nil},
		"none/there": {"none/there", nil},
		"a/c":        {"c", []string{at("a/c")}},
		"a/c/up":     {"a/b", []string{at("a/c"), at("c/up")}},
		"a/c/up/x":   {"a/b/x", []string{at("a/c"), at("c/up")}},
		"a/gone/x":   {"c/none/x", []string{at("a/gone")}},
		"a/lost":     {"c/none", []string{at("a/lost"), at("a/gone")}},
	} {
		if got := Resolve(at(path)); got != at(want.real) {
			t.Errorf("%s leads to %s, want %s", path, got, want.real)
		}
		if got, trail := Trail(at(path)), append([]string{at(path), at(want.real)}, want.links...); !slices.Equal(got, trail) {
			t.Errorf("%s: %q, want %q", path, got, trail)
		}
	}
	if got := Trail(at("loop")); len(got) != 2+maxLinks {
		t.Errorf("a link to itself is %d", len(got))
	}
}
