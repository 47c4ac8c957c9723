package container

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"codemode/internal/require"
)

// needFence skips where no fence works. What the test starts has no new privileges, as in a pod.
func needFence(t *testing.T) {
	if version, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1); int(version) < 1 {
		require.Lacking(t, "native", "no Landlock")
	}
	runtime.LockOSThread() // for good: the thread ends with the test
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
}

// TestFence: behind the fence a program writes to the places that it names, and nowhere else; it reads, executes what it
// has written, and gets its arguments and variables.
func TestFence(t *testing.T) {
	var program []byte
	open, closed := t.TempDir(), t.TempDir()
	for _, f := range fences {
		if (f.name == "x86_64") == (runtime.GOARCH == "amd64") && (f.name == "aarch64") == (runtime.GOARCH == "arm64") {
			program = f.program([]string{fenceFolder + "/not/there", fenceFolder + open, fenceDevice + "/dev/null"})
		}
	}
	needFence(t)
	file := filepath.Join(t.TempDir(), "fence")
	if err := os.WriteFile(file, program, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(file, "/bin/sh", "-c", `
cd "$1"; mkdir a b; echo "echo ran" >a/f; mv a/f b/f; chmod +x b/f; sh b/f; ./b/f; rm -r a
echo "$WORD" >/dev/null
for try in "echo >>$2/there" "echo >$2/new" "mkdir $2/d" "mkfifo $2/p" "rm $2/there" "ln -s a $2/l" "mv $2/there $2/b" "mv b/f $2/f"; do
	sh -c "$try" 2>/dev/null && echo "could $try"
done
cat "$2/there"; echo "$WORD" "$#"`, "sh", open, closed)
	cmd.Env = []string{"WORD=a word", "PATH=" + os.Getenv("PATH")}
	if err := os.WriteFile(filepath.Join(closed, "there"), []byte("read\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if want := "ran\nran\nread\na word 2\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
	out, err = exec.Command(file, "/not/there").CombinedOutput()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 1 || len(out) > 0 {
		t.Errorf("of a program that is not there: %v: %s", err, out)
	}
}

// TestFenceMade: sh makes the fence of its machine, and takes nothing else for one.
func TestFenceMade(t *testing.T) {
	needFence(t)
	dir := t.TempDir()
	script := strings.ReplaceAll(makeFence(), fencePath, filepath.Join(dir, "fence"))
	for machine, want := range map[string]string{"": "fenced\n", "riscv64": "", "other": ""} {
		text := script
		switch machine {
		case "riscv64":
			text = "uname() { echo riscv64; }\n" + script
		case "other": // the kernel executes none of another machine
			text = "uname() { case $(command uname -m) in x86_64) echo aarch64 ;; *) echo x86_64 ;; esac; }\n" + script
		}
		out, err := exec.Command("sh", "-c", text).Output()
		if err != nil || string(out) != want {
			t.Errorf("%s: %v: %s", machine, err, out)
		}
		_ = os.Remove(filepath.Join(dir, "fence"))
	}
}

// TestServerLimited: whichever sh an image has, it and what it starts have a server's processes at most, for good.
func TestServerLimited(t *testing.T) {
	const limits = "\nwhile read -r a b soft hard c; do [ \"$a $b\" != 'Max processes' ] || echo $soft $hard; done </proc/self/limits"
	tried := 0
	for _, sh := range []string{"dash", "bash", "busybox"} {
		file, err := exec.LookPath(sh)
		if err != nil {
			continue
		}
		tried++
		for before, want := range map[string]string{
			"":                         "limited\n1024 1024\n",
			"ulimit() { return 1; }\n": "",
			"ulimit() { [ \"$*\" = '-H -u' ] && echo 512; }\n":       "limited\n",
			"ulimit() { [ \"$*\" = '-H -u' ] && echo unlimited; }\n": "",
		} {
			text := before + limitProcesses + " && echo limited"
			if before == "" {
				text += limits
			}
			cmd := exec.Command(file, "-c", text)
			if sh == "busybox" {
				cmd.Args = append([]string{"busybox", "sh"}, cmd.Args[1:]...)
			}
			out, _ := cmd.CombinedOutput()
			if string(out) != want {
				t.Errorf("%s, %q: %q", sh, before, out)
			}
		}
	}
	if tried == 0 {
		t.Error("no sh was there to be tried")
	}
}
