package container

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"codemode/internal/require"
)

// TestSameStart: who does not know the boot takes nobody's process for one of an earlier boot, nor is taken for that.
func TestSameStart(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"0a1b-77", "0a1b-77", true},
		{"0a1b-77", "0a1b-78", false},
		{"0a1b-77", "2c3d-77", false},
		{"-77", "0a1b-77", true},
		{"0a1b-77", "-77", true},
		{"-77", "-78", false},
		{"", "0a1b-77", false},
	} {
		if same := sameStart(tt.a, tt.b); same != tt.same {
			t.Errorf("%q and %q are the same: %v", tt.a, tt.b, same)
		}
	}
}

// TestSameBoot: what is not known to be of this boot of this machine may be of a copy of it, and alive.
func TestSameBoot(t *testing.T) {
	self := owner{"ffff", 1, "0a1b-77"}
	for start, same := range map[string]bool{"0a1b-78": true, "2c3d-77": false, "-77": false, "1q2w3e": false} {
		if got := (owner{"ffff", 2, start}).sameBoot(self); got != same {
			t.Errorf("%q is of this boot: %v", start, got)
		}
	}
	if (owner{"eeee", 2, "0a1b-78"}).sameBoot(self) || (owner{"ffff", 2, "-78"}).sameBoot(owner{"ffff", 1, "-77"}) {
		t.Error("another host, or one whose boot nobody knows, is this one")
	}
}

// ownerVariable names an owner to another process of this test.
const ownerVariable = "CODEMODE_TEST_OWNER"

// TestTimeNamespace: in another time namespace of the same boot, processes seem to have begun at another time. Nobody
// there tells that this one has ended.
func TestTimeNamespace(t *testing.T) {
	if text := os.Getenv(ownerVariable); text != "" {
		o, ok := parseOwner(text)
		if self := thisProcess(); !ok || o.running() || o.gone(self) || o.sameBoot(self) {
			t.Errorf("%v is judged by %v: running %t, gone %t, of this boot %t",
				o, self, o.running(), o.gone(self), o.sameBoot(self))
		}
		return
	}
	shift := []string{"--time", "--boottime", "100000", "--fork"}
	if os.Geteuid() != 0 {
		shift = append(shift, "--map-root-user")
	}
	if out, err := exec.Command("unshare", append(shift, "true")...).CombinedOutput(); err != nil {
		require.Lacking(t, "native", "time namespaces: %v: %s", err, out)
	}
	cmd := exec.Command("unshare", append(shift, os.Args[0], "-test.run=^TestTimeNamespace$", "-test.v")...)
	cmd.Env = append(os.Environ(), ownerVariable+"="+thisProcess().String())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}
