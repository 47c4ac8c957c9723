package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestRemoveTree has what a guest may leave be removed by a user whom permissions and few descriptors hold up.
func TestRemoveTree(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		var limit unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		base := filepath.Join(t.TempDir(), "base")
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		outside := filepath.Join(t.TempDir(), "outside")
		must(os.WriteFile(outside, []byte("stays"), 0o400))
		must(os.MkdirAll(filepath.Join(base, "workspace", "d"), 0o700))
		must(os.Symlink(outside, filepath.Join(base, "workspace", "link")))
		must(os.WriteFile(filepath.Join(base, "workspace", "d", "file"), nil, 0o000))
		must(os.Mkdir(filepath.Join(base, "workspace", "d", "e"), 0o000))
		must(os.Mkdir(filepath.Join(base, ".1"), 0o500)) // a name that is moved to
		must(os.Chmod(filepath.Join(base, "workspace", "d"), 0o300))
		must(os.WriteFile(filepath.Join(base, ".2"), nil, 0o000))
		deep, err := unix.Open(base, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(err)
		for range 3000 {
			must(unix.Mkdirat(deep, "x", 0o700))
			next, err := unix.Openat(deep, "x", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			must(err)
			must(unix.Close(deep))
			deep = next
		}
		must(unix.Close(deep))
		must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 256, Max: limit.Max}))
		defer func() { must(unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) }()
		must(sandbox.RemoveTree(base))
		if _, err := os.Lstat(base); !os.IsNotExist(err) {
			t.Errorf("it is still there: %v", err)
		}
		if b, err := os.ReadFile(outside); string(b) != "stays" {
			t.Errorf("what a link leads to: %q, %v", b, err)
		}
	})
}
