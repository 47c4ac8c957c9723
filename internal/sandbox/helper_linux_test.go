package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/helper"
)

// besideEnv names the program that the second stage and the reaper of the test binary are to be.
const besideEnv = "CODEMODE_TEST_EXECUTED"

// TestHelper holds that all of a sandbox works where codemode-sandbox lies beside codemode, here the test binary, and
// that one of another build is left alone.
func TestHelper(t *testing.T) {
	if os.Getenv(besideEnv) != "" {
		t.Skip("it is what is started by it")
	}
	newNative(t, sandbox.IsolationFull) // or skip
	dir := cacheDir(t)
	codemode, beside := filepath.Join(dir, "codemode"), filepath.Join(dir, helper.Name)
	build(t, "test", "-c", "-tags", "build.test", "-o", codemode, "codemode/internal/sandbox")
	build(t, "build", "-tags", "build.other", "-o", beside, "codemode/cmd/codemode-sandbox")
	again(t, codemode, codemode, "^TestExecuted$")
	build(t, "build", "-tags", "build.test", "-o", beside, "codemode/cmd/codemode-sandbox")
	tests := "TestExecuted|TestProgramStreams"
	if !testing.Short() {
		tests += "|TestNativeContract|TestHostKilled"
	}
	again(t, codemode, beside, "^("+tests+")$")

	var exit *exec.ExitError
	out, err := exec.Command(beside).CombinedOutput()
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "part of codemode") {
		t.Errorf("by hand: %v, %q", err, out)
	}
}

func build(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// again runs tests of this package in a test binary that has something beside it.
func again(t *testing.T, binary, executed, tests string) {
	t.Helper()
	cmd := exec.Command(binary, "-test.v", "-test.short", "-test.run="+tests)
	cmd.Env = append(os.Environ(), besideEnv+"="+executed)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestExecuted") {
		t.Errorf("with %s: %v\n%s", executed, err, out)
	}
}

// TestExecuted holds that the second stage and the reaper are the program that they should be.
func TestExecuted(t *testing.T) {
	want := os.Getenv(besideEnv)
	if want == "" {
		t.Skip("TestHelper starts it")
	}
	is := func(what string, pid int) {
		t.Helper()
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || exe != want {
			t.Errorf("the %s is %q, want %q: %v", what, exe, want, err)
		}
	}
	ahead := sandbox.StartAhead()
	is("second stage", sandbox.AheadPID(ahead))
	ahead.Close()
	for _, method := range []string{"userns", "bwrap", "reduced"} {
		t.Run(method, func(t *testing.T) {
			isolation := sandbox.IsolationFull
			if method == "reduced" {
				isolation = sandbox.IsolationReduced
			}
			if _, err := exec.LookPath("bwrap"); err != nil && method == "bwrap" {
				t.Skip("TestBubblewrap asks for it")
			}
			rt := newNative(t, isolation)
			if method != "reduced" {
				sandbox.UseMethod(rt, method)
			}
			report, err := rt.Probe(t.Context())
			if err != nil || report.Helper != strings.HasSuffix(want, helper.Name) || report.Helper != (report.Refused == "") {
				t.Errorf("%+v, %v", report, err)
			}
			sb, err := rt.Start(t.Context(), sandbox.Spec{
				Session: "helper", Files: idle, Boot: "idle.py", Policy: policyOf(isolation),
			})
			if err != nil {
				t.Fatal(err)
			}
			is("reaper", sandbox.ReaperPID(sb))
			if err := sb.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
