//go:build linux

package container

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"codemode/internal/sandbox"
)

// beHost says that this process starts sandboxes and then waits to be killed.
const beHost = "CODEMODE_TEST_HOST_ENGINE"

func TestMain(m *testing.M) {
	if name := os.Getenv(beHost); name != "" {
		hostUntilKilled(name)
	}
	os.Exit(m.Run())
}

// templateVariable is its template of pods.
const templateVariable = "CODEMODE_TEST_HOST_TEMPLATE"

// script is a guest of one file.
func script(code string) fstest.MapFS { return fstest.MapFS{"boot.py": {Data: []byte(code)}} }

// channelCode gives a script its channel.
const channelCode = "import os, sys, json\ngiven = [int(n) for n in sys.argv[1].split(':')[1:]]\n" +
	"source, channel = given[0], given[-3]\n" +
	"def tell(**a): os.write(channel, json.dumps(a).encode() + b'\\n')\n"

// stubborn does not notice the end of its channel, and has children that ignore signals.
const stubborn = channelCode + `
import signal, time
if os.fork() == 0:
    os.setsid()
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
tell(ready=True)
time.sleep(3600)
`

// guestsVariable is how many it starts at once; one, if it is not set.
const guestsVariable = "CODEMODE_TEST_HOST_GUESTS"

func hostUntilKilled(name string) {
	r := New(
		Options{
			Engine: name, Image: os.Getenv(imageVariable), CacheDir: os.Getenv("XDG_CACHE_HOME"), Lookup: os.LookupEnv,
			Kubernetes: KubernetesOptions{Template: os.Getenv(templateVariable)},
		},
	)
	guests, _ := strconv.Atoi(os.Getenv(guestsVariable))
	for range max(guests, 1) {
		go func() {
			sb, err := r.Start(
				context.Background(),
				sandbox.Spec{
					Session: "killed", Files: script(stubborn), Boot: "boot.py", Policy: sandbox.DefaultPolicy(),
				},
			)
			if err != nil {
				os.Stdout.WriteString(err.Error() + "\n")
				os.Exit(1)
			}
			line, _ := bufio.NewReader(sb.Channel()).ReadString('\n')
			os.Stdout.WriteString(line)
		}()
	}
	select {}
}

func start(t *testing.T, r *Runtime, code string, change ...func(*sandbox.Spec)) sandbox.Sandbox {
	t.Helper()
	spec := sandbox.Spec{
		Session: t.Name(), Tenant: "tests", Files: script(channelCode + code), Boot: "boot.py",
		Policy: sandbox.DefaultPolicy(),
	}
	for _, c := range change {
		c(&spec)
	}
	sb, err := r.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sb.Close() })
	return sb
}

func answer(t *testing.T, sb sandbox.Sandbox, to any) {
	t.Helper()
	line, err := bufio.NewReader(sb.Channel()).ReadBytes('\n')
	if err != nil {
		<-sb.Done()
		t.Fatalf("%v; it ended as %+v", err, sb.Exit())
	}
	if err := json.Unmarshal(line, to); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
}

// ownedBy lists containers of another process, by its pid.
func ownedBy(t *testing.T, r *Runtime, pid int) []string {
	t.Helper()
	e := r.engine()
	out, err := e.ask(
		t.Context(), "ps", "-a", "--filter", "label="+labelPID+"="+strconv.Itoa(pid), "--format", "{{.ID}}",
	)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(out)
}

// TestKilled: a codemode that is killed leaves a container for as long as its init needs to notice; and where there
// is no init any more, to the next start.
func TestKilled(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		host := exec.Command("/proc/self/exe")
		host.Env = append(
			os.Environ(), beHost+"="+r.name, imageVariable+"="+r.opts.Image, "XDG_CACHE_HOME="+t.TempDir(),
		)
		out, err := host.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		if !strings.Contains(line, "ready") {
			t.Errorf("the host says %q", line)
		}
		if len(ownedBy(t, r, host.Process.Pid)) != 1 {
			t.Error("its container cannot be found: this test would prove nothing")
		}
		_ = host.Process.Kill()
		_ = host.Wait()
		for deadline := time.Now().Add(20 * time.Second); len(ownedBy(t, r, host.Process.Pid)) > 0; {
			if time.Now().After(deadline) {
				t.Fatal("the container of a codemode that was killed is still there")
			}
		}
	})
}

// startAndStrike starts a guest, ends it from outside, and waits until its runtime has seen that.
func startAndStrike(t *testing.T, r *Runtime, strike func(*guest) error) sandbox.Sandbox {
	t.Helper()
	sb := start(t, r, "import time\ntell(ready=True)\ntime.sleep(3600)")
	var ready any
	answer(t, sb, &ready)
	if err := strike(sb.(*guest)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-sb.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("nobody noticed")
	}
	return sb
}

// closeStruck holds that a guest's end is known to be nobody's doing inside, and closes it.
func closeStruck(t *testing.T, sb sandbox.Sandbox) {
	t.Helper()
	var unavailable *sandbox.UnavailableError
	e := sb.Exit()
	t.Log(e.Err)
	if e.Signal != int(syscall.SIGKILL) || e.Cause != sandbox.ExitEngine || !errors.As(e.Err, &unavailable) {
		t.Errorf("it ended as %+v", e)
	}
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
}

// TestEngineKilled: the container, or the command, is killed from outside in the midst of a run.
func TestEngineKilled(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		for name, strike := range map[string]func(g *guest) error{
			"container": func(g *guest) error {
				_, err := g.engine.ask(t.Context(), "kill", g.name)
				return err
			},
			"command": func(g *guest) error { return g.cmd.Process.Kill() },
			"stopped": func(g *guest) error { // politely, which the engine waits for
				_, err := g.engine.ask(t.Context(), "stop", g.name)
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				sb := startAndStrike(t, r, strike)
				if _, err := sb.Channel().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
					t.Errorf("reading: %v", err)
				}
				closeStruck(t, sb)
				if left := containers(t, r); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		}
	})
}

// TestMonitorKilled: podman's conmon is killed. Its command may not notice, but the guest has ended, and when codemode
// ends the rest, it is known to be nobody's doing inside.
func TestMonitorKilled(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		if r.name != Podman {
			return
		}
		sb := start(t, r, "import time\ntell(ready=True)\ntime.sleep(3600)")
		var ready any
		answer(t, sb, &ready)
		text, err := r.engine().ask(t.Context(), "inspect", "--format", "{{.State.ConmonPid}}", sb.(*guest).name)
		pid, _ := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || pid == 0 {
			t.Fatalf("conmon: %q, %v", text, err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if _, err := sb.Channel().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("reading: %v", err)
		}
		sb.Kill()
		select {
		case <-sb.Done():
		case <-time.After(2 * time.Minute):
			t.Fatal("it did not end")
		}
		var unavailable *sandbox.UnavailableError
		if e := sb.Exit(); e.Signal != int(syscall.SIGKILL) || !errors.As(e.Err, &unavailable) ||
			unavailable.Code != "ended" {
			t.Errorf("it ended as %+v", e)
		}
	})
}

// TestShowsNothing: what a guest can read about where it is tells nothing of this machine's user.
func TestShowsNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		t.Setenv("HTTP_PROXY", "http://user:s3cret@proxy:1")
		sb := start(t, r, `
import socket
read = lambda p: open(p).read() if os.path.exists(p) else ""
tell(mounts=read("/proc/self/mountinfo"), env=dict(os.environ), hosts=read("/etc/hosts"), name=socket.gethostname(),
     environ=read("/proc/self/environ"), cmdline=read("/proc/self/cmdline"), cgroup=read("/proc/self/cgroup"))
`, func(s *sandbox.Spec) { s.Env = []string{"GIVEN=over the channel"} })
		var got struct {
			Mounts, Hosts, Name, Environ, Cmdline, Cgroup string
			Env                                           map[string]string
		}
		answer(t, sb, &got)
		// The engine's own storage, which may be in the user's home, is where the root is.
		root, rest, _ := strings.Cut(got.Mounts, "\n")
		if !strings.Contains(root, " - overlay ") {
			rest = got.Mounts
		}
		home, _ := os.UserHomeDir()
		host, _ := os.Hostname()
		cache := r.opts.CacheDir
		for what, text := range map[string]string{
			"mountinfo": rest, "the environment": got.Environ, "the command line": got.Cmdline, "the groups": got.Cgroup,
		} {
			for _, secret := range []string{home + "/", cache, "s3cret"} {
				if len(secret) > 3 && strings.Contains(text, secret) {
					t.Errorf("%s shows %q: %s", what, secret, text)
				}
			}
		}
		if got.Name != "codemode" || strings.Contains(got.Hosts, host) && host != "localhost" {
			t.Errorf("host name %q, hosts %q", got.Name, got.Hosts)
		}
		if got.Env["GIVEN"] != "over the channel" || strings.Contains(got.Environ, "GIVEN") ||
			got.Env["HTTP_PROXY"] != "" {
			t.Errorf("environment %v", got.Env)
		}
	})
}

// TestOddPlaces: the cache's path has whatever a path may have, and the umask hides what is made.
func TestOddPlaces(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	eachEngine(t, func(t *testing.T, first *Runtime) {
		opts := first.opts
		opts.CacheDir = filepath.Join(t.TempDir(), "with spaces, colons: and ünïcode=x")
		r := New(opts)
		defer r.Close()
		sb := start(t, r, "tell(uid=os.getuid())")
		var got struct{ UID int }
		answer(t, sb, &got)
		if got.UID < 10_000 {
			t.Errorf("user %d", got.UID)
		}
		if way := sb.BootArg(); way != "fd:3:4:5" {
			t.Errorf("the guest was not reached by the shortest way, but by %s", way)
		}
		sb.Close()
	})
}

// TestEndlessOutput: what a guest writes goes nowhere but to codemode.
func TestEndlessOutput(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		sb := start(t, r, `
import threading
def drain(fd):
    while os.read(fd, 1 << 16): pass
for fd in given[-2:]: threading.Thread(target=drain, args=(fd,), daemon=True).start()
for _ in range(2000): os.write(1, b"x" * 65536)
tell(done=True)
os.read(source, 1)
`)
		var done any
		answer(t, sb, &done)
		g := sb.(*guest)
		out, err := g.engine.ask(
			t.Context(), "inspect", "--format", "{{.HostConfig.LogConfig.Type}} {{.LogPath}}", g.name,
		)
		if err != nil && r.name == Docker {
			t.Fatal(err)
		}
		if f := strings.Fields(out); len(f) == 2 {
			if fi, err := os.Stat(f[1]); err == nil && fi.Size() > 0 {
				t.Errorf("the engine's log %s has %d bytes", f[1], fi.Size())
			}
		} else if len(f) == 0 || f[0] != "none" {
			t.Errorf("log driver %q, want none", out)
		}
	})
}

// TestImageVolumes: what an image declares a volume has no room on the engine's disk.
func TestImageVolumes(t *testing.T) {
	eachEngine(t, func(t *testing.T, first *Runtime) {
		e := first.engine()
		const name, image = "codemode-test-volumes", "localhost/codemode-test:volumes"
		t.Cleanup(func() {
			_ = e.remove(context.Background(), name)
			_, _ = e.ask(context.Background(), "image", "rm", "--force", image)
		})
		for _, args := range [][]string{
			{
				"run", "--name", name, "--pull", "never", "--network", "none",
				"--ulimit", "nproc=1000:1000", "--ulimit", "nofile=1000:1000",
				first.opts.Image, "python3", "-c", "import os; os.umask(0); os.makedirs('/open/inner')",
			},
			{
				"commit", "--change", "VOLUME /tmp", "--change", "VOLUME /open/inner", "--change", "VOLUME /open",
				name, image,
			},
		} {
			if _, err := e.run(t.Context(), nil, append(slices.Clone(e.global), args...)...); err != nil {
				t.Fatal(err)
			}
		}
		opts := first.opts
		opts.Image = image
		r := New(opts)
		defer r.Close()
		sb := start(t, r, `
def attempt(dir):
    try:
        os.makedirs(dir, exist_ok=True)
        open(dir + "/file", "w").close()
    except OSError as e:
        return 0
    space = os.statvfs(dir)
    return space.f_blocks * space.f_frsize
tell(tmp=attempt("/tmp"), open=attempt("/open"), inner=attempt("/open/inner"),
    sys=[d for d in ("block", "class", "devices", "module") if os.listdir("/sys/" + d)])
`)
		var got struct {
			Tmp, Open, Inner int64 // bytes that can be written
			Sys              []string
		}
		answer(t, sb, &got)
		if got.Tmp != sandbox.DefaultPolicy().TmpSize || got.Open > filesSize || got.Inner > filesSize ||
			len(got.Sys) > 0 {
			t.Errorf("room: %+v", got)
		}
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestImageWithoutPython(t *testing.T) {
	eachEngine(t, func(t *testing.T, first *Runtime) {
		opts := first.opts
		opts.Image = "localhost/codemode-test:nopython"
		r := New(opts)
		defer r.Close()
		if ok, err := r.Image().Present(t.Context()); !ok {
			missing(t, first.name, errors.Join(errors.New("no image without Python"), err))
		}
		_, err := r.Start(t.Context(), sandbox.Spec{Files: files(), Boot: "boot.py", Policy: sandbox.DefaultPolicy()})
		var unavailable *sandbox.UnavailableError
		if !errors.As(err, &unavailable) || unavailable.Code != "image-python" {
			t.Errorf("error %v", err)
		}
	})
}

func TestImageMissing(t *testing.T) {
	eachEngine(t, func(t *testing.T, first *Runtime) {
		opts := first.opts
		opts.Image = "localhost/codemode-test:nowhere"
		r := New(opts)
		defer r.Close()
		if ok, err := r.Image().Present(t.Context()); ok || err != nil {
			t.Errorf("present: %t, %v", ok, err)
		}
		_, err := r.Start(t.Context(), sandbox.Spec{Files: files(), Boot: "boot.py", Policy: sandbox.DefaultPolicy()})
		var unavailable *sandbox.UnavailableError
		if !errors.As(err, &unavailable) || unavailable.Code != "image-missing" ||
			!slices.Contains(unavailable.Remedy, "codemode image pull") {
			t.Errorf("error %v", err)
		}
	})
}

func TestReport(t *testing.T) {
	var whole report
	body := []byte("Emulating\n\x00codemode-exit 00000003000000000000000000000003000000" + "02outer")
	for i := range body {
		if told := whole.add(body[i : i+1]); told != (i == len(body)-1) {
			t.Fatalf("byte %d: told is %t", i, told)
		}
	}
	if e := whole.exit; e.Code != 3 || string(e.Stdout) != "out" || string(e.Stderr) != "er" ||
		string(whole.chatter) != "Emulating\n" {
		t.Errorf("%+v, chatter %q", e, whole.chatter)
	}
	var flood report
	for range 100 {
		flood.add(bytes.Repeat([]byte("x"), 4096))
	}
	if len(flood.chatter) > maxChatter || len(flood.body) > 0 {
		t.Errorf("%d bytes are kept", len(flood.chatter))
	}
	var forged report
	if !forged.add([]byte(reportMark+"zzzzzzzz")) || forged.exit.Signal != 9 {
		t.Errorf("a forged report is %+v", forged.exit)
	}
}

// TestEndedAsItWasKilled: in a pod the end by which Kill reaches the init is one that the guest reads as well, and may
// be done at. What it says by a code, or a signal, stays its own.
func TestEndedAsItWasKilled(t *testing.T) {
	for _, c := range []struct {
		engine string
		exit   sandbox.Exit
		want   sandbox.ExitCause
	}{
		{Kubernetes, sandbox.Exit{}, sandbox.ExitKilled},
		{Kubernetes, sandbox.Exit{Code: 3}, sandbox.ExitSelf},
		{Kubernetes, sandbox.Exit{Signal: int(syscall.SIGSEGV)}, sandbox.ExitSelf},
		{Podman, sandbox.Exit{}, sandbox.ExitSelf},
		{Podman, sandbox.Exit{Signal: int(syscall.SIGKILL)}, sandbox.ExitKilled},
	} {
		g := &guest{engine: &engine{name: c.engine}, done: make(chan struct{})}
		g.said = report{parsed: true, exit: c.exit}
		g.killed.Store(true)
		if g.settle(); g.exit.Cause != c.want {
			t.Errorf("%s, %+v: the cause is %d, want %d", c.engine, c.exit, g.exit.Cause, c.want)
		}
	}
}
