package container

import (
	"sync/atomic"
	"testing"
	"time"

	"codemode/internal/sandbox"
)

// TestForgotten: podman's command is killed between the start of conmon and the note of that. No conmon is left, nor what
// it has begun.
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
// codemode ends the rest where the owner has gone.
func TestReapForgotten(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		if r.name != Podman {
			return
		}
		e := r.engine()
		for o, gone := range owners(t, e.owner) {
			name := nameFor(e, o)
			for tries := 0; len(monitors(name)) == 0; tries++ {
				if tries == 20 {
					t.Fatal("podman forgets no container")
				}
				killRun(t, r, name)
				if _, err := e.ask(t.Context(), "rm", "--force", "--ignore", "--time", "0", name); err != nil {
					t.Fatal(err)
				}
				time.Sleep(300 * time.Millisecond) // it may be one that ends by itself
			}
			r.reap(t.Context(), e)
			if pids := monitors(name); gone != (len(pids) == 0) {
				t.Errorf("%s: conmon %v is left; it was to be ended: %t", name, pids, gone)
			}
			if err := e.remove(t.Context(), name); err != nil {
				t.Error(err)
			}
		}
	})
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
