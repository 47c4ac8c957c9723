package sandboxtest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codemode/internal/require"
)

// testUser is an ordinary user of no importance, other than the one root's guests run as. Each test has its own, for it
// may use up what the kernel counts for a user, while others run.
func testUser(t *testing.T) uint32 {
	h := fnv.New32()
	_, _ = io.WriteString(h, filepath.Base(os.Args[0])+" "+t.Name())
	return 61_000 + h.Sum32()%4_000
}

// asUser says that this process was started by EachUser.
const asUser = "CODEMODE_TEST_AS_USER"

// EachUser runs a test as root and as an ordinary user, or as the one of them that it is started by.
func EachUser(t *testing.T, test func(t *testing.T)) {
	if os.Geteuid() != 0 {
		t.Run("user", test)
		return
	}
	t.Run("root", test)
	t.Run("user", func(t *testing.T) { rerunAs(t, testUser(t)) })
}

// rerunAs runs the parent of the current test again in another process, as another user.
func rerunAs(t *testing.T, uid uint32) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run=^"+name+"$", "-test.timeout=10m", "-test.parallel=4",
		"-attempt="+*only, fmt.Sprintf("-test.short=%t", testing.Short()))
	cmd.Dir = "/"
	PythonCache(t) // which that user can only read
	cmd.Env = append(os.Environ(), asUser+"=1", "HOME=/nonexistent", "TMPDIR=/tmp", cacheVariable+"="+CacheHome())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uid, Gid: uid}, Pdeathsig: syscall.SIGKILL,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			require.Lacking(t, "user", "becoming user %d: %v", uid, err)
		}
		t.Errorf("as user %d: %v\n%s", uid, err, out)
	}
	if skip := "--- SKIP: " + name + "/user"; strings.Contains(string(out), skip+" ") {
		_, why, _ := strings.Cut(string(out), skip)
		require.Lacking(t, "user", "as user %d: %s", uid, why)
	}
	if !strings.Contains(string(out), "--- PASS: "+name+"/user ") && err == nil {
		t.Errorf("as user %d nothing ran:\n%s", uid, out)
	}
}
