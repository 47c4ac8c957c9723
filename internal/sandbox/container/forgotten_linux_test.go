package container

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"codemode/internal/require"
	"codemode/internal/sandbox"
)

// TestForgotten: podman's command is killed between the start of conmon and the note of that. No conmon is left, nor
// what it has begun.
func TestForgotten(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		if r.name != Podman {
			return
		}
		e := r.engine()
		for range 5 {
			name := e.newName()
			killRun(t, r, name)
			if err := e.remove(t.Context(), name); err != nil {
				t.Error(err)
			}
			if pids := monitors(name); len(pids) > 0 {
				t.Errorf("conmon is left: %v", pids)
			}
		}
	})
}

// TestReapForgotten: the same befalls codemode, too, and podman removes what it knows of the container. The next
// codemode ends the rest where the owner has gone, even if it ends at once itself.
func TestReapForgotten(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		if r.name != Podman {
			return
		}
		e := r.engine()
		closed, end := context.WithCancel(t.Context())
		end()
		for o, gone := range owners(t, e) {
			name := nameFor(e, o)
			for tries := 0; len(monitors(name)) == 0; tries++ {
				if tries == 20 {
					t.Fatal("podman forgets no container")
				}
				killRun(t, r, name)
				if _, err := e.ask(t.Context(), "rm", "--force", "--ignore", "--time", "0", name); err != nil {
					t.Fatal(err)
				}
				<-time.After(300 * time.Millisecond) // it may be one that ends by itself
			}
			r.reap(closed, e)
			if pids := monitors(name); gone != (len(pids) == 0) {
				t.Errorf("%s: conmon %v is left; it was to be ended: %t", name, pids, gone)
			}
			if err := e.remove(t.Context(), name); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestReapOthers: what another user has named as a container of somebody's who has gone is none.
func TestReapOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		require.Lacking(t, "user", "becoming another user takes root")
	}
	self := thisProcess()
	e := &engine{name: Podman, local: true, owner: self}
	name := nameFor(e, owner{self.host, os.Getpid(), "long-ago"})
	cmd := exec.Command("sh")
	cmd.Args = []string{"conmon", "-c", "sleep 60 & echo; wait", "sh", "-n", name}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it has its child
		t.Fatal(err)
	}
	if names := e.monitored(); slices.Contains(names, name) {
		t.Errorf("%q are of this user", names)
	}
	e.endForgotten(t.Context(), name)
	if processStart(cmd.Process.Pid) == "" || len(childrenOf(cmd.Process.Pid)) != 1 {
		t.Error("another user's processes were ended")
	}
}

// killRun kills the command that starts a container once there is a conmon.
func killRun(t *testing.T, r *Runtime, name string) {
	t.Helper()
	e, policy := r.engine(), sandbox.DefaultPolicy()
	means, _ := sandbox.Effective(policy, e.report(r.opts.Image))
	cmd := e.command(e.args(order{
		name: name, image: r.opts.Image, user: Nobody, profile: e.profile, way: viaStreams,
		python: viaStreams.boot(), spec: sandbox.Spec{Policy: policy}, means: means,
	})...)
	_, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var ended atomic.Bool
	wait := make(chan struct{})
	go func() {
		defer close(wait)
		_ = cmd.Wait()
		ended.Store(true)
	}()
	for len(monitors(name)) == 0 {
		if ended.Load() {
			t.Fatalf("`podman run` ended by itself: %v", cmd.ProcessState)
		}
	}
	_ = cmd.Process.Kill()
	<-wait
}
