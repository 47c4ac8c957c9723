//go:build linux

package container

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codemode/internal/sandbox"
)

// owners are some whose containers the next codemode meets, and whether it removes them.
func owners(t *testing.T, e *engine) map[owner]bool {
	t.Helper()
	self := e.owner
	here := e.name == Podman && e.local
	boot, ticks, _ := strings.Cut(self.start, "-")
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	return map[owner]bool{
		{self.host, dead.Process.Pid, self.start}:     true,
		{self.host, os.Getpid(), boot + "-1" + ticks}: true, // whose number is another's now
		{self.host, os.Getpid(), "long-ago"}:          here, // or it is one of a copy of this machine
		{self.host, os.Getpid(), ""}:                  false,
		self:                                          false,
		{"ffffffffffff", dead.Process.Pid, "1"}:       false,
	}
}

// nameFor names a container as its owner does.
func nameFor(e *engine, o owner) string { return (&engine{name: e.name, owner: o}).newName() }

// create makes a container that no init ends, and that has a label of an owner.
func create(t *testing.T, e *engine, image, name string, label owner, env ...string) {
	t.Helper()
	cmd := e.command(append(slices.Clone(e.global), "create", "--name", name, "--pull", "never", "--network", "none",
		"--ulimit", "nproc=1000:1000", "--ulimit", "nofile=1000:1000", "--label", labelOwner+"="+label.String(),
		"--entrypoint", "python3", image, "-c", "pass")...)
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = e.remove(context.Background(), name) })
}

// left tells what the engine lists of a container.
func left(t *testing.T, e *engine, name string) string {
	t.Helper()
	args := []string{"ps", "--all", "--filter", "name=" + name, "--format", "{{.Names}} {{.Status}}"}
	if e.name == Podman {
		args = append(args, "--external")
	}
	out, err := e.ask(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, name+" ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// TestReap: what is removed has the name that an owner gives who has gone. One that has only the labels of such a
// container, by the image that was made of that, is somebody else's.
func TestReap(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		e, removed := r.engine(), map[string]bool{}
		for o, gone := range owners(t, e) {
			for name, gone := range map[string]bool{nameFor(e, o): gone, "test-of-" + nameFor(e, o): false} {
				create(t, e, r.opts.Image, name, o)
				removed[name] = gone
			}
		}
		r.reap(t.Context(), e)
		for name, gone := range removed {
			if l := left(t, e, name); gone != (l == "") {
				t.Errorf("%s: %q is left; it was to be removed: %t", name, l, gone)
			}
		}
	})
}

// TestReapStorage: a `podman run` that was killed early leaves the storage of a container that podman does not know.
// Here that is one that a podman with another list of containers knows.
func TestReapStorage(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		if r.name != Podman {
			return
		}
		conf := filepath.Join(t.TempDir(), "containers.conf")
		text := "[engine]\nstatic_dir = \"" + filepath.Dir(conf) + "\"\n"
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e, removed := r.engine(), map[string]bool{}
		for o, gone := range owners(t, e) {
			name := nameFor(e, o)
			create(t, e, r.opts.Image, name, o, "CONTAINERS_CONF="+conf)
			if l := left(t, e, name); l != name+" Storage" {
				t.Fatalf("podman lists it as %q", l)
			}
			removed[name] = gone
		}
		r.reap(t.Context(), e)
		for name, gone := range removed {
			if l := left(t, e, name); gone != (l == "") {
				t.Errorf("%s: %q is left; it was to be removed: %t", name, l, gone)
			}
		}
	})
}

// TestReapAgain: podman may fail to remove one at first, whose files it finds in use.
func TestReapAgain(t *testing.T) {
	gone := thisProcess()
	gone.start += "1" // its number is another's now
	name := nameFor(&engine{name: Podman}, gone)
	opts := fakeEngine(t, Podman, podmanVersion+`ps) echo `+name+` ;;
rm) mkdir "${0%/*}/tried" 2>/dev/null && { echo 'unlinkat shm: device or resource busy' >&2; exit 125; } ;;
esac
exit 0`)
	r := New(opts)
	if _, err := r.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); strings.Count(calls(t, opts), "rm") < 2; {
		if time.Now().After(deadline) {
			t.Fatalf("podman was called for %q", calls(t, opts))
		}
		<-time.After(10 * time.Millisecond)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestRemoveCreated: who kills `docker run` and has its container removed before the daemon has created it is told that
// there is none. It is removed once it is there, though that took seconds, also by who is closed at once.
func TestRemoveCreated(t *testing.T) {
	for looks, leaves := range map[string]bool{"1": true, "11": false} {
		opts := fakeEngine(t, Docker, dockerInfo+`run) kill -9 $$ ;;
rm) there="${0%/*}/container"
[ -e "$there" ] && { mv "$there" "$there-gone"; exit 0; }
printf 1 >>"$there-asked"
[ "$(cat "$there-asked")" = `+looks+` ] && touch "$there"
echo 'Error: No such container: x' >&2; exit 1 ;;
esac
exit 0`)
		r := New(opts)
		if sb, err := r.Start(t.Context(), sandbox.Spec{Files: files(), Boot: "boot.py"}); err == nil {
			sb.Close()
			t.Fatal("it started")
		}
		gone := filepath.Join(filepath.Dir(opts.Engine), "container-gone")
		for deadline := time.Now().Add(10 * time.Second); !leaves; {
			if _, err := os.Stat(gone); err == nil {
				break
			} else if time.Now().After(deadline) {
				t.Errorf("it is left: docker was called for %q", calls(t, opts))
				break
			}
			<-time.After(10 * time.Millisecond)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(gone); err != nil {
			t.Errorf("closed at once (%t): docker was called for %q", leaves, calls(t, opts))
		}
	}
}
