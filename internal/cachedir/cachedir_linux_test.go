package cachedir

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"codemode/internal/require"
)

func TestTrust(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(dir string) error
		why    string // "" for a directory that is fine
	}{
		"fine":        {func(string) error { return nil }, ""},
		"readable":    {func(dir string) error { return os.Chmod(dir, 0o755) }, ""},
		"missing":     {os.Remove, ""},
		"group's":     {func(dir string) error { return os.Chmod(dir, 0o775) }, "can be written by others"},
		"everybody's": {func(dir string) error { return os.Chmod(dir, 0o1777) }, "can be written by others"},
		"file": {
			func(dir string) error { return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600)) },
			"not a directory",
		},
		"symbolic link": {
			func(dir string) error { return errors.Join(os.Remove(dir), os.Symlink("/usr", dir)) },
			"not a directory",
		},
		"dangling link": {
			func(dir string) error { return errors.Join(os.Remove(dir), os.Symlink("/nonexistent", dir)) },
			"not a directory",
		},
		"somebody's own": {
			func(dir string) error { return os.Chown(dir, 61234, 61234) },
			"belongs to another user (uid 61234)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "codemode")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := tt.change(dir); errors.Is(err, os.ErrPermission) {
				require.Lacking(t, "user", "%v", err)
			} else if err != nil {
				t.Fatal(err)
			}
			if err := Trust(dir); tt.why != "" {
				untrusted, ok := errors.AsType[*Error](err)
				if !ok || len(untrusted.Hint()) == 0 || !strings.Contains(err.Error(), strconv.Quote(dir)) ||
					!strings.Contains(err.Error(), tt.why) {
					t.Errorf("%v, want that %q %s, and a hint", err, dir, tt.why)
				}
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
