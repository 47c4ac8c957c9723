package container

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"codemode/internal/require"
)

// TestHidden: an owner that another user may not see (hidepid) is not taken to have ended, so its containers are not
// removed.
func TestHidden(t *testing.T) {
	o := owner{pid: os.Getppid(), start: processStart(os.Getppid())}
	if os.Getenv("CODEMODE_TEST_HIDDEN") != "" {
		if processStart(1) != "" {
			t.Fatal("process 1 is to be seen")
		}
		if !(owner{pid: 1, start: "then"}).running() {
			t.Error("what cannot be seen is taken to have ended")
		}
		if (owner{pid: 1 << 22, start: "then"}).running() {
			t.Error("what is not there is taken to run")
		}
		return
	}
	if !o.running() || (owner{pid: o.pid, start: "then"}).running() {
		t.Errorf("%+v is not there, or another is", o)
	}
	if os.Geteuid() != 0 {
		t.Skip("to hide processes takes root")
	}
	self, err := os.Open("/proc/self/exe") // which another user may not reach by its path
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	hide := `mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" "$@"`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", hide, "/dev/fd/3", "-test.run=TestHidden")
	cmd.Env = append(os.Environ(), "CODEMODE_TEST_HIDDEN=1")
	cmd.ExtraFiles = []*os.File{self}
	switch out, err := cmd.CombinedOutput(); {
	case strings.Contains(string(out), "--- FAIL"):
		t.Errorf("%s", out)
	case err != nil:
		require.Lacking(t, "unshare", "%v: %s", err, out)
	}
}
