package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"codemode/internal/require"

	"golang.org/x/sys/unix"
)

// A daemon is a dockerd that this process has started, with a place of its own: one that is killed takes all containers
// with it, and others test with the system's.
type daemon struct {
	dir   string
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has
}

// ownDaemon starts one, and gives it the image that the system's has.
func (e *engine) ownDaemon(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		require.Lacking(t, e.feature, "dockerd needs root")
	}
	dir, err := os.MkdirTemp("", "chaos-docker-") // short: it is part of sockets' names
	if err != nil {
		t.Fatal(err)
	}
	e.daemon = &daemon{dir: dir}
	t.Cleanup(func() {
		if err := e.daemon.close(); err != nil {
			t.Error(err)
		}
	})
	image := filepath.Join(dir, "image")
	if _, err := e.ask("image", "save", "--output", image, e.image); err != nil {
		t.Fatal(err)
	}
	e.env = append(e.env, "DOCKER_HOST=unix://"+filepath.Join(dir, "socket"))
	if err := e.daemon.start(e); err != nil {
		require.Lacking(t, e.feature, "a dockerd of our own: %v", err)
	}
	if _, err := e.ask("image", "load", "--input", image); err != nil {
		t.Fatal(err)
	}
}

// start waits until it answers. What has died with an earlier one is gone by then.
func (d *daemon) start(e *engine) error {
	log, err := os.Create(filepath.Join(d.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	at := func(name string) string { return filepath.Join(d.dir, name) }
	// As .ci/engines has it: containers have no network, so the daemon leaves the machine's alone.
	d.cmd = exec.Command(
		"dockerd", "--data-root", at("data"), "--exec-root", at("run"), "--pidfile", at("pid"), "--host",
		"unix://"+at("socket"), "--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false",
		"--ip-masq=false",
	)
	if driver := os.Getenv("DOCKER_STORAGE"); driver != "" {
		d.cmd.Args = append(d.cmd.Args, "--storage-driver", driver)
	}
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM} // also of a test that is killed
	started, ended := make(chan error), make(chan struct{})
	d.ended = ended
	go func() {
		runtime.LockOSThread() // whose end would be the signal's
		defer close(ended)
		err := startChild(d.cmd, d.cmd.Start)
		started <- err
		if err == nil {
			_ = waitChild(d.cmd, func() {})
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); ; <-time.After(50 * time.Millisecond) {
		_, err := e.ask("version", "--format", "{{.Server.Version}}")
		if err == nil {
			return nil
		}
		select {
		case <-d.ended:
		default:
			if time.Now().Before(deadline) {
				continue
			}
		}
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w: %s", err, said[max(0, len(said)-2000):])
	}
}

func (d *daemon) signal(s syscall.Signal) error { return d.cmd.Process.Signal(s) }

// end ends it, if it is there.
func (d *daemon) end(s syscall.Signal) error {
	if d.cmd == nil {
		return nil
	}
	if err := d.signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-d.ended:
	case <-time.After(patience):
		return errors.Join(d.signal(syscall.SIGKILL), fmt.Errorf("dockerd did not end within %v", patience))
	}
	// Its containerd is ours then. The next would take one that has ended for one that lives, as long as nobody waits
	// for it.
	pid, _ := os.ReadFile(filepath.Join(d.dir, "run", "containerd", "containerd.pid"))
	if !eventually(func() bool {
		return !slices.ContainsFunc(orphans(), func(o string) bool { return strings.HasPrefix(o, string(pid)+" ") })
	}) {
		return errors.New("containerd is still there")
	}
	return nil
}

// forgot tells of an orphan whether it is a shim that docker has forgotten, as one does that was killed while it started
// or ended a container: nothing of the container runs below it.
func (d *daemon) forgot(orphan string) bool {
	if d == nil || !strings.Contains(orphan, "containerd-shim") || !strings.Contains(orphan, d.dir) {
		return false
	}
	pid, _, _ := strings.Cut(orphan, " ")
	return !slices.ContainsFunc(below(pid), func(child string) bool {
		command, _ := os.ReadFile("/proc/" + child + "/cmdline")
		return string(command) != "runc\x00init\x00" // it waits for the word to become the container's first process
	})
}

// below are the numbers of a process's children.
func below(pid string) (children []string) {
	tasks, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
	for _, task := range tasks {
		numbers, _ := os.ReadFile(task)
		children = append(children, strings.Fields(string(numbers))...)
	}
	return children
}

// close ends it for good, with what it forgot when it was killed: shims and mounts.
func (d *daemon) close() error {
	err := d.end(syscall.SIGTERM)
	for _, orphan := range orphans() {
		if !d.forgot(orphan) {
			continue
		}
		shim, _, _ := strings.Cut(orphan, " ")
		for _, number := range append(below(shim), shim) {
			pid, _ := strconv.Atoi(number)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for _, line := range slices.Backward(strings.Split(string(mounts), "\n")) { // those above come later
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], d.dir+"/") {
			err = errors.Join(err, unix.Unmount(f[4], unix.MNT_DETACH))
		}
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}
