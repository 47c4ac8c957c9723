package sandbox_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestReplacedMount: a guest sees what was looked at, or there is none, while somebody who may change the folder above
// has its path lead elsewhere again and again.
func TestReplacedMount(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		for _, method := range []string{"userns", "bwrap"} {
			t.Run(method, func(t *testing.T) {
				if _, err := os.Stat("/usr/bin/bwrap"); err != nil && method == "bwrap" {
					require.Lacking(t, "bwrap", "bubblewrap is not installed: %v", err)
				}
				rt := newNative(t, sandbox.IsolationFull)
				sandbox.UseMethod(rt, method)
				dir := cacheDir(t)
				data, aside := filepath.Join(dir, "data"), filepath.Join(dir, "aside")
				if err := errors.Join(
					os.Mkdir(data, 0o755), os.WriteFile(filepath.Join(data, "given"), nil, 0o644),
					os.Mkdir(filepath.Join(dir, "private"), 0o755), os.Symlink("private", aside),
				); err != nil {
					t.Fatal(err)
				}
				done := make(chan struct{})
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for n := 0; ; n++ {
						select {
						case <-done:
							return
						case <-time.After(time.Duration(1+n%7) * time.Millisecond):
						}
						_ = unix.Renameat2(unix.AT_FDCWD, data, unix.AT_FDCWD, aside, unix.RENAME_EXCHANGE)
					}
				}()
				defer func() { close(done); <-ended }()
				var seen int
				for n := 0; n < 80 || seen == 0 && n < 800; n++ {
					switch line := listed(t, rt, data); line {
					case "given\n":
						seen++
					case "":
					default:
						t.Fatalf("a guest saw %q", line)
					}
				}
				t.Logf("%d guests saw the folder", seen)
			})
		}
	})
}

// listed is what a guest lists in a folder, with a line's end; nothing where there was no guest, or no folder.
func listed(t *testing.T, rt sandbox.Runtime, folder string) string {
	t.Helper()
	const code = `import os, sys
os.write(int(sys.argv[1].split(":")[1]), (" ".join(os.listdir("/workspace/data")) + "\n").encode())`
	sb, err := rt.Start(t.Context(), sandbox.Spec{
		Session: "replaced", Files: fstest.MapFS{"boot.py": {Data: []byte(code)}}, Boot: "boot.py",
		Policy: policyOf(sandbox.IsolationFull), Mounts: []sandbox.Mount{{Host: folder, Name: "data", Dir: true}},
	})
	if err != nil {
		var refused *sandbox.MountError
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		return ""
	}
	defer sb.Close()
	line, err := bufio.NewReader(sb.Channel()).ReadString('\n')
	if err != nil {
		<-sb.Done()
		t.Fatalf("%v; it ended as %+v", err, sb.Exit())
	}
	return line
}
