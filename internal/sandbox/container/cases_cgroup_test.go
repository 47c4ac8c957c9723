//go:build unix

package container

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/sandbox"
)

// TestCgroupV1 is case 55: what podman as an ordinary user cannot enforce with cgroup v1 is not asked of it, where it
// would only warn, but enforced in another way, or refused.
func TestCgroupV1(t *testing.T) {
	opts := fakeEngine(t, Podman, `case $1 in
version) echo '{"Client":{"Version":"5.0.0"},"Server":{"Version":"5.0.0"}}' ;;
info) echo '{"host":{"cgroupVersion":"v1","cgroupControllers":["memory","pids","cpu"],"serviceIsRemote":true,"security":{"rootless":true,"seccompEnabled":true}}}' ;;
run) exit 125 ;;
esac`)
	r := New(opts)
	defer r.Close()
	report, err := r.Probe(t.Context())
	if err != nil || report.Memory != byWatchdog || report.Pids != byRlimit || report.CPUs != byNothing {
		t.Fatalf("%+v, %v", report, err)
	}

	shared := sandbox.DefaultPolicy()
	shared.CPUs = 0.5
	var gap *sandbox.GapError
	if _, err := r.Start(
		t.Context(), sandbox.Spec{Files: files(), Boot: "boot.py", Policy: shared},
	); !errors.As(err, &gap) ||
		gap.Gaps[0].Name != "cpus" {
		t.Errorf("with a share of the CPUs: %v", err)
	}
	shared.AllowGaps = []string{"cpus"}
	for _, p := range []sandbox.Policy{sandbox.DefaultPolicy(), shared} {
		if _, err := r.Start(t.Context(), sandbox.Spec{Files: files(), Boot: "boot.py", Policy: p}); err == nil ||
			errors.As(err, &gap) {
			t.Errorf("with %v allowed: %v; the engine was not even asked", p.AllowGaps, err)
		}
	}
	said, err := os.ReadFile(filepath.Join(filepath.Dir(opts.Engine), "calls"))
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for line := range strings.Lines(string(said)) {
		if !strings.HasPrefix(line, "run ") {
			continue
		}
		runs++
		if !strings.Contains(line, " --ulimit data=") {
			t.Errorf("memory is without limit: %s", line)
		}
		for _, flag := range []string{" --memory ", " --pids-limit ", " --cpus "} {
			if strings.Contains(line, flag) {
				t.Errorf("podman is asked for%sand cannot: %s", flag, line)
			}
		}
	}
	if runs != 2 {
		t.Errorf("%d runs, want 2: a gap that is not allowed starts nothing", runs)
	}
}
