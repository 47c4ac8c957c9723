package container

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"codemode/internal/require"
)

// TestRemotePodman has an engine that does not see a file of codemode's, as on another host. The image's own Python
// installs the system call filter there.
func TestRemotePodman(t *testing.T) {
	require.OptIn(t, Podman)
	if _, err := exec.LookPath(Podman); err != nil || os.Geteuid() != 0 {
		require.Lacking(t, Podman, "a podman service of root's is needed: %v", err)
	}
	if os.Getenv("CONTAINER_HOST") != "" {
		t.Skip("podman is elsewhere already")
	}
	hidden := filepath.Dir(t.TempDir()) // where the runtime's cache will be
	dir, err := os.MkdirTemp("", "podman-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "podman.sock")
	service := exec.Command("unshare", "--mount", "sh", "-c",
		`mount -t tmpfs none "$1" && exec "$2" system service --time 0 "unix://$3"`, "sh", hidden, Podman, socket)
	service.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := service.Start(); err != nil {
		require.Lacking(t, Podman, "%v", err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-service.Process.Pid, syscall.SIGTERM)
		_ = service.Wait()
	})
	t.Setenv("CONTAINER_HOST", "unix://"+socket)
	answers(t, socket)
	r := newRuntime(t, Podman, Podman)
	sb := start(t, r, `
import ctypes, errno
def refused(number, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    return errno.errorcode.get(ctypes.get_errno(), "") if libc.syscall(number, *args) < 0 else "done"
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
keyctl = {"x86_64": 250, "aarch64": 219}[os.uname().machine]
tell(mode=status["Seccomp"].strip(), filters=int(status.get("Seccomp_filters", "2")), keyctl=refused(keyctl, 0, 0, 0, 0, 0))
`)
	var got struct {
		Mode, Keyctl string
		Filters      int
	}
	answer(t, sb, &got)
	if got.Mode != "2" || got.Filters < 2 || got.Keyctl != "EPERM" {
		t.Errorf("got %+v, want the engine's filter and codemode's", got)
	}
	if e := r.engine(); e.local || e.profile != "" {
		t.Errorf("the engine is taken for a local one, with profile %q", e.profile)
	}
}

// answers waits for somebody to listen.
func answers(t *testing.T, socket string) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	patience := time.After(2 * time.Minute)
	for {
		c, err := net.Dial("unix", socket)
		if err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-look.C:
		case <-patience:
			t.Fatal(err)
		}
	}
}

// TestDockerHost reaches docker by an address, through a relay.
func TestDockerHost(t *testing.T) {
	require.OptIn(t, Docker)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var relays sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); relays.Wait() })
	relays.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", "/var/run/docker.sock")
			if err != nil {
				_ = from.Close()
				continue
			}
			relays.Go(func() { relay(to, from) })
			relays.Go(func() { relay(from, to) })
		}
	})
	t.Setenv("DOCKER_HOST", "tcp://"+listener.Addr().String())
	r := newRuntime(t, Docker, Docker)
	sb := start(t, r, `tell(x=42)`)
	var got struct{ X int }
	answer(t, sb, &got)
	if got.X != 42 {
		t.Errorf("got %d", got.X)
	}
}

// relay copies until one side has ended, and tells the other.
func relay(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
