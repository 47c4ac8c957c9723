package plainfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codemode/internal/require"
)

func TestLinks(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	if err := errors.Join(
		os.MkdirAll(at("a/b"), 0o755), os.Mkdir(at("c"), 0o755), os.Symlink(filepath.Join("..", "c"), at("a/c")),
		os.Symlink(at("a/b"), at("c/up")), os.Symlink("loop", at("loop")),
	); err != nil {
		require.Lacking(t, "symlinks", "%v", err)
	}
	for path, want := range map[string][]string{
		"a/b":        nil,
		"none/there": nil,
		"a/c":        {at("a/c")},
		"a/c/up/x":   {at("a/c"), at("c/up")},
	} {
		if got := Links(at(path)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := Links(at("loop")); len(got) != maxLinks {
		t.Errorf("a link to itself is %d", len(got))
	}
}
