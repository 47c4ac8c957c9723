package plainfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"codemode/internal/require"
)

// TestOpenFolder opens a folder by its real path, makes what is missing, and follows no link.
func TestOpenFolder(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(top, "private")
	if err := errors.Join(
		os.MkdirAll(filepath.Join(private, "below"), 0o755), os.Symlink(private, filepath.Join(top, "link")),
	); err != nil {
		require.Lacking(t, "symlinks", "%v", err)
	}
	for path, want := range map[string]error{
		"link": ErrLink, "link/below": ErrLink, "link/made": ErrLink, "private/below": nil, "made/too": nil, "private": nil,
	} {
		for name, open := range map[string]func(string) (*os.Root, error){
			"opened":   func(path string) (*os.Root, error) { return OpenFolder(path, 0o755) },
			"compared": openCompared,
		} {
			dir, err := open(filepath.Join(top, filepath.FromSlash(path)))
			if name == "compared" && errors.Is(err, os.ErrNotExist) {
				continue
			}
			if !errors.Is(err, want) {
				t.Errorf("%s, %s: %v, want %v", path, name, err, want)
			}
			if err == nil {
				dir.Close()
			}
		}
	}
	if _, err := os.Stat(filepath.Join(private, "made")); err == nil {
		t.Error("a folder was made behind a link")
	}
	if _, err := OpenFolder(filepath.Join(top, "none"), 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of none: %v", err)
	}
}
