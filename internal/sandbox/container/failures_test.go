//go:build unix

package container

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"codemode/internal/require"
	"codemode/internal/sandbox"
)

// fakeEngine writes a command that answers as an engine does which cannot be had here, and notes its arguments.
func fakeEngine(t *testing.T, name, script string) Options {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	text := "#!/bin/sh\necho \"$@\" >>\"" + dir + "/calls\"\n" + script
	syscall.ForkLock.RLock() // a child that another test starts meanwhile would hold the file open for writing
	err := os.WriteFile(path, []byte(text), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Engine: path, Image: "example.org/image", CacheDir: filepath.Join(dir, "cache"), Log: testLog(t)}
}

const (
	podmanVersion = `case $1 in version) echo '{"Client":{"Version":"5.0.0"},"Server":{"Version":"5.0.0"}}' ;;
info) echo '{"host":{"cgroupVersion":"v2","cgroupControllers":["memory","pids","cpu"],"serviceIsRemote":true,"security":{"rootless":true,"seccompEnabled":true}}}' ;;
`
	dockerInfo = `case $1 in context) echo 'default	true' ;;
info) echo '{"ServerVersion":"28.0.0","MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true,"SecurityOptions":["name=seccomp,profile=builtin"],"OperatingSystem":"Debian","Name":"elsewhere"}' ;;
`
)

func files() fstest.MapFS { return fstest.MapFS{"boot.py": {Data: []byte("")}} }

func TestUnavailable(t *testing.T) {
	for _, c := range []struct {
		name, engine, script string
		code, says, remedy   string
	}{
		{
			"daemon", "docker", `case $1 in context) ;; *) echo 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?' >&2; exit 1 ;; esac`,
			"daemon", "Is the docker daemon running", "Start the engine",
		},
		{
			"daemon, as info tells it", "docker", `case $1 in context) ;; *) echo '{"ServerVersion":"","ServerErrors":["Cannot connect to the Docker daemon at unix:///x"]}' ;; esac`,
			"daemon", "Cannot connect", "Start the engine",
		},
		{
			"permission", "docker", `case $1 in context) ;; *) echo 'permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock' >&2; exit 1 ;; esac`,
			"no-permission", "permission denied", "rootless",
		},
		{
			"podman's shim", "docker", `echo 'Emulate Docker CLI using podman. Create /etc/containers/nodocker to quiet msg.' >&2; echo '{"host":{"buildahVersion":"1.2"}}'`,
			"docker-is-podman", "imitation", `"podman"`,
		},
		{
			"machine", "podman", `echo 'Cannot connect to Podman. Please verify your connection to the Linux system using podman system connection list, or try podman machine init and podman machine start to manage a new Linux VM' >&2; exit 125`,
			"machine-stopped", "Cannot connect to Podman", "podman machine start",
		},
		{
			"service", "podman", `echo 'Error: unable to connect to Podman socket: dial tcp: connection refused' >&2; exit 125`,
			"daemon", "connection refused", "Start the engine",
		},
		{
			"subordinate ids", "podman", `echo 'Error: cannot set up namespace using "/usr/bin/newuidmap": exit status 1' >&2; exit 125`,
			"subids", "newuidmap", "subuid",
		},
		{
			"image missing", "podman", podmanVersion + `run) echo 'Error: example.org/image: image not known' >&2; exit 125 ;; esac`,
			"image-missing", "not known", "codemode image pull",
		},
		{
			"image missing", "docker", dockerInfo + `run) echo "docker: Error response from daemon: No such image: example.org/image:latest." >&2; exit 125 ;; esac`,
			"image-missing", "No such image", "codemode image pull",
		},
		{
			"image without python", "docker", dockerInfo + `run) echo 'docker: Error response from daemon: OCI runtime create failed: exec: "python3": executable file not found in $PATH: unknown.' >&2; exit 127 ;; esac`,
			"image-python", "not found", "3.9",
		},
		{
			"a folder below which others are mounted", "podman", podmanVersion + `run) echo 'Error: OCI runtime error: crun: mount ` + "`/dev` to `w`" + `: Invalid argument' >&2; exit 126 ;; esac`,
			"mount", "Invalid argument", "native",
		},
		{
			"image with an old python", "podman", podmanVersion + `run) printf 'codemode00000001000000053.6.8'; cat >/dev/null; printf '\0codemode-exit 0000000000000000000000000000000000000000' >&2 ;; esac`,
			"image-python", "Python 3.6.8", "3.9",
		},
		{
			"command that is killed", "podman", podmanVersion + `run) kill -9 $$ ;; esac`,
			"ended", "from outside", "podman info",
		},
		{
			"container that is killed", "docker", dockerInfo + `run) exit 137 ;; esac`,
			"ended", "from outside", "docker info",
		},
		{
			"remote without our files", "podman", podmanVersion + `run) echo 'Error: opening seccomp profile failed: open /home/u/.cache/x.json: no such file or directory' >&2; exit 125 ;; esac`,
			"profile", "seccomp profile", "same path",
		},
		{
			"disk full", "docker", dockerInfo + `run) echo 'docker: Error response from daemon: mkdir /var/lib/docker/overlay2/x: no space left on device.' >&2; exit 125 ;; esac`,
			"disk-full", "no space left", "docker system df",
		},
		{
			"not json", "docker", `echo 'hello'`,
			"engine", `said "hello`, "",
		},
		{
			"hangs at first", "podman", `exec sleep 60`,
			"no-answer", "no answer within", "podman info",
		},
		{
			"hangs later", "podman", `[ -e "${0%/*}/asked" ] && exec sleep 60
[ "$1" = run ] && { touch "${0%/*}/asked"; exec sleep 60; }
` + podmanVersion + `esac`,
			"no-answer", "no answer within", "podman info",
		},
		{
			"slow, and answers slowly", "podman", `[ "$1" = version ] && [ "$2" = --format ] && [ -e "${0%/*}/asked" ] && exec sleep 2
[ "$1" = run ] && { touch "${0%/*}/asked"; sleep 6; exit 137; }
` + podmanVersion + `esac`,
			"ended", "from outside", "podman info",
		},
	} {
		t.Run(c.engine+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(c.script, "asked") {
				require.OptIn(t, "soak")
			}
			r := New(fakeEngine(t, c.engine, c.script))
			if c.code == "no-answer" {
				r.answer = 3 * time.Second
			}
			sb, err := r.Start(
				t.Context(), sandbox.Spec{Files: files(), Boot: "boot.py", Policy: sandbox.DefaultPolicy()},
			)
			if err == nil {
				sb.Close()
				t.Fatal("it started")
			}
			var unavailable *sandbox.UnavailableError
			if !errors.As(err, &unavailable) {
				t.Fatalf("error %v (%T)", err, err)
			}
			if unavailable.Code != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("code %q: %v; want %q and %q", unavailable.Code, err, c.code, c.says)
			}
			if got := strings.Join(unavailable.Remedy, " "); !strings.Contains(got, c.remedy) {
				t.Errorf("remedy %q does not say %q", got, c.remedy)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNoEngine(t *testing.T) {
	for _, name := range []string{Podman, Docker, "/nowhere/podman"} {
		r := New(
			Options{
				Engine: name, Image: "x", CacheDir: t.TempDir(),
				LookPath: func(string) (string, error) { return "", os.ErrNotExist },
			},
		)
		_, err := r.Probe(t.Context())
		var unavailable *sandbox.UnavailableError
		if !errors.As(err, &unavailable) || unavailable.Code != "no-engine" || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSuccessAloneIsRemembered: what was in the way may be repaired while codemode runs.
func TestSuccessAloneIsRemembered(t *testing.T) {
	opts := fakeEngine(t, Docker, `[ -e "${0%/*}/up" ] || { echo 'Cannot connect to the Docker daemon' >&2; exit 1; }
`+dockerInfo+`esac`)
	r := New(opts)
	defer r.Close()
	if _, err := r.Probe(t.Context()); err == nil {
		t.Fatal("a daemon that is down was found")
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(opts.Engine), "up"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	report, err := r.Probe(t.Context())
	if err != nil || report.Version != "28.0.0" || report.Memory != "cgroup" || report.Rootless {
		t.Errorf("report %+v, %v", report, err)
	}
}

func TestRootlessDockerIsPreferred(t *testing.T) {
	script := `case "$*" in
"context ls"*) printf 'default\ttrue\nrootless\tfalse\n' ;;
"--context rootless version"*) echo 28 ;;
"--context rootless info"*) echo '{"ServerVersion":"28.0.0","SecurityOptions":["name=seccomp,profile=builtin","name=rootless"]}' ;;
info*) echo '{"ServerVersion":"28.0.0","SecurityOptions":["name=seccomp,profile=builtin"]}' ;;
esac`
	for _, c := range []struct {
		variable string
		rootless bool
	}{{"", true}, {"DOCKER_HOST", false}, {"DOCKER_CONTEXT", false}} {
		opts := fakeEngine(t, Docker, script)
		opts.Lookup = func(name string) (string, bool) { return "chosen", name == c.variable }
		r := New(opts)
		report, err := r.Probe(t.Context())
		if err != nil || report.Rootless != c.rootless {
			t.Errorf("with %q set: rootless is %t, %v; want %t", c.variable, report.Rootless, err, c.rootless)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestGapRefuses(t *testing.T) {
	opts := fakeEngine(
		t,
		Docker,
		`case $1 in context) ;; info) echo '{"ServerVersion":"28.0.0","CgroupDriver":"none","SecurityOptions":["name=seccomp"]}' ;; run) exit 125 ;; esac`,
	)
	r := New(opts)
	defer r.Close()
	p := sandbox.DefaultPolicy()
	p.CPUs = 0.5
	_, err := r.Start(context.Background(), sandbox.Spec{Files: files(), Boot: "boot.py", Policy: p})
	var gap *sandbox.GapError
	if !errors.As(err, &gap) || len(gap.Gaps) != 1 || gap.Gaps[0].Name != "cpus" {
		t.Errorf("error %v, want a gap of cpus", err)
	}
}

func TestPull(t *testing.T) {
	opts := fakeEngine(
		t,
		Podman,
		podmanVersion+`pull) printf 'Trying to pull x\nCopying 1\rCopying 2\n' >&2; echo deadbeef ;;
image) [ -e "${0%/*}/there" ] || { echo "Error: inspecting object: example.org/image: image not known" >&2; exit 125; } ;; esac`,
	)
	r := New(opts)
	defer r.Close()
	if ok, err := r.Image().Present(t.Context()); ok || err != nil {
		t.Errorf("present: %t, %v", ok, err)
	}
	var lines []string
	if err := r.Image().Pull(t.Context(), func(l string) { lines = append(lines, l) }); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lines, "|"); got != "Trying to pull x|Copying 1|Copying 2" {
		t.Errorf("progress %q", got)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(opts.Engine), "there"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if ok, err := r.Image().Present(t.Context()); !ok || err != nil {
		t.Errorf("present: %t, %v", ok, err)
	}
}

// TestStartPulls has a start fetch the image that is missing, and tell so until it is there.
func TestStartPulls(t *testing.T) {
	opts := fakeEngine(t, Podman, podmanVersion+`pull) echo 'Copying 1' >&2; touch "${0%/*}/there" ;;
run) [ -e "${0%/*}/there" ] && echo 'Error: no space left on device' >&2 || echo 'Error: example.org/image: image not known' >&2; exit 125 ;; esac`)
	var told []string
	opts.Progress, opts.Missing = func(l string) { told = append(told, l) }, true
	r := New(opts)
	defer r.Close()
	_, err := r.Start(t.Context(), sandbox.Spec{Files: files(), Boot: "boot.py", Policy: sandbox.DefaultPolicy()})
	var unavailable *sandbox.UnavailableError
	if !errors.As(err, &unavailable) || unavailable.Code != "disk-full" {
		t.Errorf("after the image was fetched: %v", err)
	}
	const what = "fetching the image example.org/image"
	if want := []string{what, what + ": Copying 1", ""}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// TestMachine records what is asked of a Podman machine, which no engine here has.
func TestMachine(t *testing.T) {
	const script = `dir=${0%/*}
case "$*" in
"machine start") [ -e "$dir/made" ] || { echo 'Error: podman-machine-default: VM does not exist' >&2; exit 125; }; touch "$dir/up" ;;
"machine init") touch "$dir/made" ;;
"machine stop") rm "$dir/up" ;;
*) [ -e "$dir/up" ] || { echo 'Cannot connect to Podman. Please verify your connection to the Linux system using podman system connection list, or try podman machine init and podman machine start' >&2; exit 125; }
` + podmanVersion + `esac ;;
esac`
	for _, c := range []struct {
		allowed bool
		calls   string
	}{
		{false, "version"},
		{true, "version, machine start, machine init, machine start, version, info, ps, machine stop"},
	} {
		opts := fakeEngine(t, Podman, script)
		opts.Machine = c.allowed
		r := New(opts)
		_, err := r.Probe(t.Context())
		if (err == nil) != c.allowed {
			t.Errorf("allowed is %t: %v", c.allowed, err)
		}
		for deadline := time.Now().Add(10 * time.Second); c.allowed && !strings.Contains(calls(t, opts), "ps"); {
			if time.Now().After(deadline) {
				t.Fatal("nothing was reaped")
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if got := calls(t, opts); got != c.calls {
			t.Errorf("podman was called for %q, want %q", got, c.calls)
		}
	}
}

// TestIdleMachine: a machine that was started here is stopped when nothing has run for a while, and started again.
func TestIdleMachine(t *testing.T) {
	opts := fakeEngine(t, Podman, `dir=${0%/*}
case "$*" in
"machine start") touch "$dir/up" ;;
"machine stop") rm "$dir/up" ;;
*) [ -e "$dir/up" ] || { echo 'Cannot connect to Podman. Please verify your connection to the Linux system using podman system connection list, or try podman machine init and podman machine start' >&2; exit 125; }
`+podmanVersion+`esac ;;
esac`)
	opts.Machine, opts.Idle = true, 10*time.Millisecond
	r := New(opts)
	for n := range 2 {
		r.use()
		if _, err := r.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.unuse()
		for deadline := time.Now().Add(10 * time.Second); strings.Count(calls(t, opts), "machine stop") <= n; {
			if time.Now().After(deadline) {
				t.Fatalf("it was not stopped: %s", calls(t, opts))
			}
		}
	}
	r.use() // no stop while a guest is there
	if _, err := r.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.rest()
	if got := strings.Count(calls(t, opts), "machine stop"); got != 2 {
		t.Errorf("it was stopped %d times before the end", got)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := strings.Count(calls(t, opts), "machine stop"); got != 3 {
		t.Errorf("it was stopped %d times", got)
	}
}

// calls lists the words before the options of what a fake engine was called with.
func calls(t *testing.T, opts Options) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(opts.Engine), "calls"))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(b)) {
		list = append(list, verb(strings.Fields(line)))
	}
	return strings.Join(list, ", ")
}

// TestMountOption: docker has renamed it, and refuses the other one.
func TestMountOption(t *testing.T) {
	for client, want := range map[string]string{"24.0.7": "bind-nonrecursive=true", "29.0.0": "bind-recursive=disabled"} {
		r := New(fakeEngine(t, Docker, `case $1 in info)
	echo '{"ServerVersion":"29.0.0","ClientInfo":{"Version":"`+client+`"},"SecurityOptions":["name=seccomp"]}' ;; esac`))
		e, err := r.ready(t.Context())
		if err != nil || e.alone != want {
			t.Errorf("docker %s: %+v, %v", client, e, err)
		}
		r.Close()
	}
}

// TestRemovedLater has the first removal of a container fail whose start has: the engine is asked again.
func TestRemovedLater(t *testing.T) {
	opts := fakeEngine(t, Podman, podmanVersion+`run) kill -9 $$ ;;
rm) [ -e "${0%/*}/tried" ] && { echo >"${0%/*}/removed"; exit 0; }
touch "${0%/*}/tried"; echo 'Error: container state improper' >&2; exit 125 ;; esac`)
	removed := filepath.Join(filepath.Dir(opts.Engine), "removed")
	if err := syscall.Mkfifo(removed, 0o600); err != nil {
		t.Fatal(err)
	}
	r := New(opts)
	defer r.Close()
	sb, err := r.Start(t.Context(), sandbox.Spec{Files: files(), Boot: "boot.py", Policy: sandbox.DefaultPolicy()})
	if err == nil {
		sb.Close()
		t.Fatal("it started")
	}
	timeout := time.AfterFunc(time.Minute, func() { _ = os.WriteFile(removed, nil, 0) })
	if text, err := os.ReadFile(removed); string(text) != "\n" || err != nil {
		t.Errorf("the container was left: %v, after %s", err, calls(t, opts))
	}
	timeout.Stop()
}

// TestEndedUnreported: of a container that ended before its init could say why, it is told whether it was killed.
func TestEndedUnreported(t *testing.T) {
	e := &engine{name: Podman}
	for code, want := range map[int]string{killedCode: "its first process was killed", 143: "ended from outside"} {
		if err := e.ended(nil, code); !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", code, err)
		}
	}
}
