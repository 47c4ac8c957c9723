package sandbox_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"testing/fstest"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// lockAll locks a file of each of the system's folders, wholly and in parts, and keeps the locks until it is killed.
const lockAll = `import fcntl, json, os, sys, time
locked = []
for dir in "/usr/bin", "/usr/lib", "/usr/lib64", "/lib64", "/usr/share/zoneinfo":
    for at, folders, names in os.walk(dir):
        path = next((p for p in (os.path.join(at, n) for n in names) if not os.path.islink(p)), None)
        if path:
            f = os.open(path, os.O_RDONLY)
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
            locked.append(path)
            break
os.write(int(sys.argv[1].split(":")[-3]), json.dumps(locked).encode() + b"\n")
time.sleep(60)`

// TestLocksAreItsOwn: no program of the machine waits for a lock that a guest has on a file of the system.
func TestLocksAreItsOwn(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		rt := newNative(t, sandbox.IsolationFull)
		sb, err := rt.Start(t.Context(), sandbox.Spec{
			Session: "locks", Files: fstest.MapFS{"boot.py": {Data: []byte(lockAll)}}, Boot: "boot.py",
			Policy: policyOf(sandbox.IsolationFull),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer sb.Close()
		line, _ := bufio.NewReader(sb.Channel()).ReadBytes('\n') // of a guest that has ended there is none
		var locked []string
		if err := json.Unmarshal(line, &locked); err != nil || len(locked) < 2 {
			t.Fatalf("the guest says %q (%v)", line, err)
		}
		for _, path := range locked {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
				t.Errorf("flock of %s: %v", path, err)
			}
			whole := unix.Flock_t{Type: unix.F_WRLCK}
			if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &whole); err != nil || whole.Type != unix.F_UNLCK {
				t.Errorf("a part of %s is locked by process %d (%v)", path, whole.Pid, err)
			}
			f.Close()
		}
	})
}
