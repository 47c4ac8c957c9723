package sandboxtest

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"codemode/internal/require"
)

const (
	rootless   = "podman-rootless"
	kubernetes = "kubernetes"
	kubectl    = "kubectl"

	// asUserVariable says that this process was started by EachEngine.
	asUserVariable = "CODEMODE_TEST_AS_POD"

	// userCommand runs a command as the user that .ci/engines/setup made for rootless podman.
	userCommand = "/usr/local/bin/as-pod"
)

// EachEngine runs a test on podman, on podman as an ordinary user, and on docker; feature is what
// CODEMODE_REQUIRE calls it, without which an engine is left alone. Flags are for the process that is
// the ordinary user's.
func EachEngine(t *testing.T, test func(t *testing.T, engine, feature string), flags ...string) {
	if os.Getenv(asUserVariable) != "" {
		t.Run(rootless, func(t *testing.T) { test(t, "podman", rootless) })
		return
	}
	each := func(engine, feature string) {
		t.Run(feature, func(t *testing.T) {
			require.OptIn(t, feature)
			test(t, engine, feature)
		})
	}
	podman := "podman"
	if os.Geteuid() != 0 {
		podman = rootless
	}
	each("podman", podman)
	each("docker", "docker")
	if podman != rootless {
		t.Run(rootless, func(t *testing.T) { rerunAsUser(t, flags) })
	}
}

// EachContainer is EachEngine, and then the pods of the cluster that kubectl reaches.
func EachContainer(t *testing.T, test func(t *testing.T, engine, feature string), flags ...string) {
	EachEngine(t, test, flags...)
	if os.Getenv(asUserVariable) == "" {
		t.Run(kubernetes, func(t *testing.T) {
			NeedCluster(t)
			test(t, kubernetes, kubernetes)
		})
	}
}

// NeedCluster skips a test where pods are not asked for.
func NeedCluster(t *testing.T) {
	t.Helper()
	require.OptIn(t, kubernetes)
	if _, err := exec.LookPath(kubectl); err != nil {
		require.Lacking(t, kubernetes, "%v", err)
	}
}

// PodImage is what .ci/kubernetes/setup gives its node; the variable names another.
func PodImage() string {
	return cmp.Or(os.Getenv("CODEMODE_TEST_POD_IMAGE"), "localhost/codemode-test:pod")
}

// ContainersOf lists the containers of a codemode, by its process.
func ContainersOf(t *testing.T, engine string, pid int) []string {
	t.Helper()
	label := "codemode.pid=" + strconv.Itoa(pid)
	args := []string{"ps", "-a", "--filter", "label=" + label, "--format", "{{.ID}} {{.Status}}"}
	if engine == kubernetes {
		engine, args = kubectl, []string{"get", "pods", "--selector=" + label, "--no-headers"}
	}
	out, err := exec.Command(engine, args...).Output()
	if err != nil {
		t.Fatalf("%s %q: %v", engine, args, err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
}

// rerunAsUser runs the current test in another process, as the user of rootless podman.
func rerunAsUser(t *testing.T, flags []string) {
	t.Helper()
	require.OptIn(t, rootless)
	if _, err := os.Stat(userCommand); err != nil {
		require.Lacking(t, rootless, "there is no user for rootless podman, see .ci/engines: %v", err)
	}
	name, _, _ := strings.Cut(t.Name(), "/")
	args := []string{asUserVariable + "=1"}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "CODEMODE_") {
			args = append(args, v)
		}
	}
	args = append(
		args, "GORACE=atexit_sleep_ms=0", copyOfSelf(t), "-test.v", "-test.run=^"+name+"$", "-test.timeout=10m",
		"-attempt="+*only,
	)
	if testing.Short() {
		args = append(args, "-test.short")
	}
	args = append(args, flags...)
	out, err := exec.Command(userCommand, args...).CombinedOutput()
	if err != nil {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
	if _, why, skipped := strings.Cut(string(out), "--- SKIP: "+name+"/"+rootless+" "); skipped {
		require.Lacking(t, rootless, "as an ordinary user: %s", why)
	}
	if err == nil && !strings.Contains(string(out), "--- PASS: "+name+"/"+rootless+" ") {
		t.Errorf("as an ordinary user nothing ran:\n%s", out)
	}
}

// copyOfSelf is the test binary where everybody can execute it: go test's own place is closed to others.
func copyOfSelf(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "codemode-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "test")
	syscall.ForkLock.RLock() // a child that is started meanwhile would hold the file open for writing
	err = os.WriteFile(binary, data, 0o755)
	syscall.ForkLock.RUnlock()
	err = errors.Join(err, os.Chmod(binary, 0o755), os.Chmod(dir, 0o755)) // whatever the umask
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
