package sandbox_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"
	"codemode/internal/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestReplacedMount: a guest sees what was looked at, or there is none, while somebody who may change the folder above
// has its path lead elsewhere again and again.
func TestReplacedMount(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		for _, method := range []string{"userns", "bwrap", "reduced"} {
			t.Run(method, func(t *testing.T) {
				if _, err := os.Stat("/usr/bin/bwrap"); err != nil && method == "bwrap" {
					require.Lacking(t, "bwrap", "bubblewrap is not installed: %v", err)
				}
				isolation := sandbox.IsolationFull
				if method == "reduced" {
					isolation = sandbox.IsolationReduced
				}
				rt := newNative(t, isolation)
				if method != "reduced" {
					sandbox.UseMethod(rt, method)
				}
				dir := cacheDir(t)
				data, aside := filepath.Join(dir, "data"), filepath.Join(dir, "aside")
				if err := errors.Join(
					os.Mkdir(data, 0o755), os.WriteFile(filepath.Join(data, "given"), nil, 0o644),
					os.Mkdir(filepath.Join(dir, "private"), 0o755), os.Symlink("private", aside),
					os.WriteFile(filepath.Join(dir, "private", "secret"), nil, 0o644),
				); err != nil {
					t.Fatal(err)
				}
				defer exchanging(t, data, aside)()
				var seen int
				for n := 0; n < 80 || seen == 0 && n < 800; n++ {
					switch line := listed(t, rt, isolation, data); line {
					case "given\n":
						seen++
					case "", "\n":
					default:
						t.Fatalf("a guest saw %q", line)
					}
				}
				t.Logf("%d guests saw the folder", seen)
			})
		}
	})
}

// exchanging has two names exchanged again and again, until stop is called.
func exchanging(t *testing.T, a, b string) (stop func()) {
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
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
			}
		}
	}()
	return func() { close(done); <-ended }
}

// TestReplacedInstallation: of an interpreter of the user's, a guest sees what was looked at.
func TestReplacedInstallation(t *testing.T) {
	dir := cacheDir(t)
	venv, aside := filepath.Join(dir, "venv"), filepath.Join(dir, "aside")
	if out, err := exec.Command("/usr/bin/python3", "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		require.Lacking(t, "python", "python3 -m venv: %v: %s", err, out)
	}
	found, _ := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages"))
	if len(found) != 1 {
		t.Fatalf("site-packages are %q", found)
	}
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "private"), 0o755), os.Symlink(filepath.Join(dir, "private"), aside),
		os.WriteFile(filepath.Join(dir, "private", "secret"), nil, 0o644),
	); err != nil {
		t.Fatal(err)
	}
	rt := sandbox.NewNative(sandbox.NativeOptions{
		CacheDir: cacheDir(t), Isolation: sandbox.IsolationFull,
		Python: python.Source{CacheDir: sandboxtest.PythonCache(t), Interpreter: venv},
	})
	const code = `import glob, os, sys
found = glob.glob("/opt/codemode/host%s/lib/python3*/site-packages/*")
os.write(int(sys.argv[1].split(":")[1]), (" ".join(found) + "\n").encode())`
	defer exchanging(t, found[0], aside)()
	var seen int
	for n := 0; n < 60 || seen == 0 && n < 800; n++ {
		sb, err := rt.Start(t.Context(), sandbox.Spec{
			Session: "replaced", Files: fstest.MapFS{"boot.py": {Data: fmt.Appendf(nil, code, venv)}}, Boot: "boot.py",
			Policy: policyOf(sandbox.IsolationFull),
		})
		if err != nil {
			continue // it was refused
		}
		line, err := bufio.NewReader(sb.Channel()).ReadString('\n')
		sb.Close()
		switch {
		case err != nil || strings.Contains(line, "secret"):
			t.Fatalf("a guest saw %q, %v", line, err)
		case line == "\n":
			seen++
		}
	}
	t.Logf("%d guests were started", seen)
}

// listed is what a guest lists in a folder, with a line's end; nothing where there was no guest, or no folder.
func listed(t *testing.T, rt sandbox.Runtime, isolation sandbox.Isolation, folder string) string {
	t.Helper()
	const code = `import os, sys
try:
    found = os.listdir(os.environ["HOME"] + "/data")
except OSError:  # in reduced mode, where it is a link, it leads elsewhere at that moment
    found = []
os.write(int(sys.argv[1].split(":")[1]), (" ".join(found) + "\n").encode())`
	sb, err := rt.Start(t.Context(), sandbox.Spec{
		Session: "replaced", Files: fstest.MapFS{"boot.py": {Data: []byte(code)}}, Boot: "boot.py",
		Policy: policyOf(isolation), Mounts: []sandbox.Mount{{Host: folder, Name: "data", Dir: true}},
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
