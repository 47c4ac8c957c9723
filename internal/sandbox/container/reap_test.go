//go:build linux

package container

import (
	"context"
	"os"
	"os/exec"
	"testing"
)

// TestReap makes containers that no init ends, with the labels of an owner that has gone. One whose labels are of another
// container, by the image that was made of that, is somebody else's, whatever its own name.
func TestReap(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		e := r.engine()
		dead := exec.Command("true")
		if err := dead.Run(); err != nil {
			t.Fatal(err)
		}
		gone := owner{e.owner.host, dead.Process.Pid, e.owner.start}
		reused := owner{e.owner.host, os.Getpid(), "long-ago"}
		alive := e.owner
		elsewhere := owner{"ffffffffffff", dead.Process.Pid, "1"}
		own, users := newName(), "test-of-"+newName()
		containers := []struct {
			what, name, label string
			owner             owner
			removed           bool
		}{
			{"gone", own, own, gone, true},
			{"reused", "", "", reused, true},
			{"alive", "", "", alive, false},
			{"elsewhere", "", "", elsewhere, false},
			{"committed", newName(), own, gone, false},
			{"of a user's name", users, users, gone, false},
		}
		for i := range containers {
			c := &containers[i]
			if c.name == "" {
				c.name = newName()
				c.label = c.name
			}
			_, err := e.ask(
				t.Context(), "create", "--name", c.name, "--pull", "never", "--network", "none", "--ulimit",
				"nproc=1000:1000", "--ulimit", "nofile=1000:1000", "--label", labelOwner+"="+c.owner.String(), "--label",
				labelName+"="+c.label, "--entrypoint", "python3", r.opts.Image, "-c", "pass",
			)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = e.remove(context.Background(), c.name) })
		}
		r.reap(t.Context(), e)
		for _, c := range containers {
			_, err := e.ask(t.Context(), "inspect", "--format", "{{.Id}}", c.name)
			if removed := err != nil; removed != c.removed {
				t.Errorf("%s: removed is %t, want %t", c.what, removed, c.removed)
			}
			if err := e.remove(t.Context(), c.name); err != nil {
				t.Error(err)
			}
		}
	})
}
