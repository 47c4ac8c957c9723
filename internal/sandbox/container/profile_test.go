package container

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"codemode/internal/cachedir"
	"codemode/internal/sandbox/seccomp"
)

// TestProfileOfOthers: a filter that others could exchange while an engine reads it is none.
func TestProfileOfOthers(t *testing.T) {
	for _, spoiled := range []string{".", "seccomp"} {
		cache := filepath.Join(t.TempDir(), "codemode")
		if _, err := writeProfile(cache, seccomp.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(cache, spoiled), 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := writeProfile(cache, seccomp.Options{}); !errors.As(err, new(*cachedir.Error)) {
			t.Errorf("%s can be written to by all: %v", spoiled, err)
		}
	}
}
