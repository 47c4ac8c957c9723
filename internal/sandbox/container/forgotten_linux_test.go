package container

import (
	"sync/atomic"
	"testing"

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
		policy := sandbox.DefaultPolicy()
		means, _ := sandbox.Effective(policy, e.report(r.opts.Image))
		for range 5 {
			name := newName()
			cmd := e.command(e.args(order{
				name: name, image: r.opts.Image, user: Nobody, profile: e.profile, way: viaStreams,
				python: viaStreams.boot(), spec: sandbox.Spec{Policy: policy}, means: means,
			})...)
			stdin, err := cmd.StdinPipe()
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
			if err := e.remove(t.Context(), name); err != nil {
				t.Error(err)
			}
			stdin.Close()
			if left := monitors(name); len(left) > 0 {
				t.Errorf("conmon is left: %v", left)
			}
		}
	})
}
