//go:build linux

package container

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"codemode/internal/sandbox"
)

// behind puts a script before the real engine's command: $real.
func behind(t *testing.T, r *Runtime, script string) *Runtime {
	t.Helper()
	real, err := exec.LookPath(r.name)
	if err != nil {
		t.Fatal(err)
	}
	opts := fakeEngine(t, r.name, "real='"+real+"'\n"+script)
	opts.Image, opts.Lookup = r.opts.Image, os.LookupEnv
	front := New(opts)
	t.Cleanup(func() {
		if err := front.Close(); err != nil {
			t.Error(err)
		}
	})
	return front
}

// TestProveShare mounts for real: a folder of its user's alone, whose name has whatever a name may have.
func TestProveShare(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	eachEngine(t, func(t *testing.T, first *Runtime) {
		dir := filepath.Join(t.TempDir(), `a, "b" c:d=é`)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r := behind(t, first, `exec "$real" "$@"`)
		proved, err := r.ProveShare(t.Context(), filepath.Join(dir, ".", "..", filepath.Base(dir)))
		if err != nil || proved.Folder != dir {
			t.Fatalf("%+v, %v", proved, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in the folder: %v, %v", left, err)
		}
		another := New(r.opts) // as in another process
		defer another.Close()
		for _, r := range []*Runtime{r, another} {
			again, err := r.ProveShare(t.Context(), dir)
			if err != nil || again.Proved.After(proved.Proved) {
				t.Errorf("again: %+v, %v; first %+v", again, err, proved)
			}
		}
		if n := started(t, r.opts); n != 1 {
			t.Errorf("%d containers, want 1", n)
		}
		if _, err := r.ProveShare(t.Context(), t.TempDir()); err != nil || started(t, r.opts) != 2 {
			t.Errorf("another folder was not proved: %v", err)
		}
		t.Run("clock set back", func(t *testing.T) { // of a proof from the future nobody knows how old it is
			proofs, _ := filepath.Glob(filepath.Join(r.opts.CacheDir, "shares", "*"))
			future := time.Now().Add(time.Hour)
			for _, proof := range proofs {
				if err := os.Chtimes(proof, future, future); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.ProveShare(t.Context(), dir); err != nil || started(t, r.opts) != 3 {
				t.Errorf("with %d proofs from the future, the folder was not proved again: %v", len(proofs), err)
			}
		})
	})
}

// started counts the containers that an engine's command was to start.
func started(t *testing.T, opts Options) int {
	t.Helper()
	said, err := os.ReadFile(filepath.Join(filepath.Dir(opts.Engine), "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(said), "run --rm ")
}

// TestNotShared: a virtual machine that does not have the folder has another in its place, or none.
func TestNotShared(t *testing.T) {
	eachEngine(t, func(t *testing.T, first *Runtime) {
		empty := t.TempDir()
		for name, place := range map[string]string{"empty": empty, "nowhere": empty + "/nowhere"} {
			t.Run(name, func(t *testing.T) {
				r := behind(t, first, `n=$#
while [ $n -gt 0 ]; do
	arg=$1; shift; n=$((n - 1))
	case $arg in type=bind,src=*) arg='type=bind,src=`+place+`,dst=/run/codemode,readonly' ;; esac
	set -- "$@" "$arg"
done
exec "$real" "$@"`)
				dir := t.TempDir()
				for range 2 { // only a proof is remembered
					_, err := r.ProveShare(t.Context(), dir)
					var share *ShareError
					if !errors.As(err, &share) || share.Runtime != r.name || share.Folder != dir || share.VM != "" ||
						share.Remote ||
						strings.Contains(err.Error(), "not available") {
						t.Errorf("error %#v", err)
					}
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("left in the folder: %v, %v", left, err)
				}
			})
		}
	})
}

// TestProveShareInVM asks engines that cannot be had here where they are.
func TestProveShareInVM(t *testing.T) {
	const denied = `run) echo 'Error: statfs /Users/x: no such file or directory' >&2; exit 125 ;;
system) echo '[{"Name":"other","URI":"ssh://u@far.example.org:22/run/podman.sock"},{"Name":"m","URI":"ssh://core@127.0.0.1:50100/run/user/501/podman/podman.sock","Default":true}]' ;;
rm) ;; esac`
	desktop := strings.ReplaceAll(dockerInfo, `"OperatingSystem":"Debian"`, `"OperatingSystem":"Docker Desktop"`)
	for _, c := range []struct {
		engine, script, variable, value string
		vm                              string
		remote                          bool
	}{
		{Podman, podmanVersion + denied, "", "", PodmanMachine, true},
		{Podman, podmanVersion + denied, "CONTAINER_CONNECTION", "other", "", true},
		{Podman, podmanVersion + denied, "CONTAINER_HOST", "tcp://far.example.org:1", "", true},
		{Podman, podmanVersion + denied, "CONTAINER_HOST", "unix:///run/podman/podman.sock", "", false},
		{Docker, desktop + denied, "", "", DockerDesktop, true},
		{Docker, dockerInfo + denied, "", "", "", true},
	} {
		opts := fakeEngine(t, c.engine, c.script)
		opts.Lookup = func(name string) (string, bool) { return c.value, name == c.variable }
		r := New(opts)
		_, err := r.ProveShare(t.Context(), t.TempDir())
		var share *ShareError
		if !errors.As(err, &share) || share.VM != c.vm || share.Remote != c.remote {
			t.Errorf("%s, %s=%s: error %#v", c.engine, c.variable, c.value, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestProveShareOfNothing: what is wrong with the engine or the folder has nothing to do with sharing.
func TestProveShareOfNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r := New(
		fakeEngine(
			t,
			Docker,
			dockerInfo+`run) echo 'docker: Error response from daemon: No such image: example.org/image:latest.' >&2; exit 125 ;; rm) ;; esac`,
		),
	)
	defer r.Close()
	var share *ShareError
	for _, folder := range []string{file, file + "-nowhere"} {
		if _, err := r.ProveShare(t.Context(), folder); err == nil || errors.As(err, &share) ||
			!strings.Contains(err.Error(), folder) {
			t.Errorf("%s: %v", folder, err)
		}
	}
	_, err := r.ProveShare(t.Context(), t.TempDir())
	var unavailable *sandbox.UnavailableError
	if !errors.As(err, &unavailable) || unavailable.Code != "image-missing" || errors.As(err, &share) {
		t.Errorf("without an image: %v", err)
	}
}
