package container

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
)

// newCluster returns a runtime of the cluster that kubectl reaches, in its current namespace.
func newCluster(t *testing.T, change ...func(*Options)) *Runtime {
	t.Helper()
	sandboxtest.NeedCluster(t)
	opts := Options{Engine: Kubernetes, Image: sandboxtest.PodImage(), CacheDir: t.TempDir(), Lookup: os.LookupEnv, Log: testLog(t)}
	for _, c := range change {
		c(&opts)
	}
	r := New(opts)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("closing the runtime: %v", err)
		}
		if left := ask(t, "get", "pods,leases", "--selector="+labelOwner+"="+thisProcess().String(), "--output=name"); left != "" {
			t.Errorf("left: %s", left)
		}
	})
	return r
}

// ask runs kubectl by itself.
func ask(t *testing.T, args ...string) string {
	t.Helper()
	var said strings.Builder
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), kubectl, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %q: %v: %s", args, err, said.String())
	}
	return strings.TrimSpace(string(out))
}

func TestPodContract(t *testing.T) {
	r := newCluster(t)
	before := sandboxtest.TakeLeftovers(t)
	sandboxtest.Run(t, r, sandbox.DefaultPolicy())
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	before.Check(t)
}

// TestPodHolds: a namespace that enforced Pod Security's `restricted` would have nothing against a guest's pod.
func TestPodHolds(t *testing.T) {
	r := newCluster(t)
	sb := start(t, r, `
tell(uid=os.getuid(), gid=os.getgid(), token=os.path.exists("/var/run/secrets"))
os.read(source, 1)
`)
	var got struct {
		UID, GID int
		Token    bool
	}
	answer(t, sb, &got)
	if got.UID < 10_000 || got.GID != 65534 || got.Token {
		t.Errorf("the guest is %+v", got)
	}
	out, err := exec.Command(
		kubectl, "label", "--dry-run=server", "--overwrite", "namespace", "--all",
		"pod-security.kubernetes.io/enforce=restricted",
	).CombinedOutput()
	if err != nil || strings.Contains(string(out), sb.(*guest).name) {
		t.Errorf("Pod Security `restricted` says %v\n%s", err, out)
	}
}

// TestPodFences: a guest in a pod executes nothing that it has written, moves files in its folders, and can neither
// write to the memory of what codemode starts beside it, nor end that.
func TestPodFences(t *testing.T) {
	r := newCluster(t)
	sb := start(t, r, `
import signal
worked = []
def tried(name, do):
    try:
        do()
        worked.append(name)
    except OSError:
        pass
for folder in "/tmp", "/workspace", "/dev/shm":
    os.makedirs(folder + "/a")
    with open(folder + "/p", "w") as f: f.write("#!/bin/sh\n")
    os.chmod(folder + "/p", 0o755)
    tried("execute in " + folder, lambda: os.execv(folder + "/p", ["p"]))
    os.rename(folder + "/p", folder + "/a/p")
tried("write to the node", lambda: open("/dev/termination-log", "w"))
tried("write beside its files", lambda: open("/codemode/x", "w"))
beside = [int(p) for p in os.listdir("/proc") if p.isdigit() and b"codemode\"" in open("/proc/" + p + "/cmdline", "rb").read()]
beside = [p for p in beside if p not in (1, os.getpid())]
for p in beside:
    tried("write to memory", lambda: open("/proc/%d/mem" % p, "r+b"))
    tried("read memory", lambda: open("/proc/%d/mem" % p, "rb"))
tell(beside=len(beside), worked=worked)
os.read(source, 1)
`)
	var got struct {
		Beside int
		Worked []string
	}
	answer(t, sb, &got)
	if len(got.Worked) > 0 || got.Beside != 1 {
		t.Errorf("of %d processes beside it, the guest could %q", got.Beside, got.Worked)
	}
}

// waitUntil waits for something that the cluster is about to do.
func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// hosting starts a codemode in the cluster whose guests say that they are ready.
func hosting(t *testing.T, env ...string) (host *exec.Cmd, ready *bufio.Scanner) {
	t.Helper()
	host = exec.Command("/proc/self/exe")
	host.Env = append(
		os.Environ(), beHost+"="+Kubernetes, imageVariable+"="+sandboxtest.PodImage(), "XDG_CACHE_HOME="+t.TempDir(),
	)
	host.Env = append(host.Env, env...)
	out, err := host.StdoutPipe()
	if err == nil {
		err = host.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Process.Kill() })
	return host, bufio.NewScanner(out)
}

// TestPodKilled: of a codemode that is killed no process is left once its pods notice, and the next one on this host
// removes the rest at once.
func TestPodKilled(t *testing.T) {
	newCluster(t)
	host, ready := hosting(t)
	if !ready.Scan() || !strings.Contains(ready.Text(), "ready") {
		t.Errorf("the host says %q", ready.Text())
	}
	pid := host.Process.Pid
	if len(sandboxtest.ContainersOf(t, Kubernetes, pid)) == 0 {
		t.Error("its pod cannot be found: this test would prove nothing")
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	waitUntil(t, "the pod of a codemode that was killed still runs", func() bool {
		return !strings.Contains(strings.Join(sandboxtest.ContainersOf(t, Kubernetes, pid), " "), "Running")
	})
	next := newCluster(t)
	if _, err := next.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the next codemode leaves them", func() bool {
		return len(sandboxtest.ContainersOf(t, Kubernetes, pid)) == 0
	})
}

// TestPodsAtOnce: of a codemode with sixty guests, and more under way, that is killed, nothing is left a lease later. The
// next one starts its own at once.
func TestPodsAtOnce(t *testing.T) {
	const guests, ready = 66, 60
	newCluster(t)
	small := filepath.Join(t.TempDir(), "pod.yaml") // so that two processors have room for them
	if err := os.WriteFile(small, []byte("spec: {containers: [{resources: {requests: {cpu: 10m, memory: 64Mi}}}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	host, lines := hosting(t, guestsVariable+"="+strconv.Itoa(guests), templateVariable+"="+small)
	for i := range ready {
		if !lines.Scan() || !strings.Contains(lines.Text(), "ready") {
			t.Fatalf("guest %d: %q", i, lines.Text())
		}
	}
	t.Logf("%d guests after %v", ready, time.Since(began).Round(100*time.Millisecond))
	_ = host.Process.Kill()
	_ = host.Wait()
	began = time.Now()
	next := newCluster(t, func(o *Options) { o.Kubernetes.Template = small })
	sb := start(t, next, "tell(ready=True)\nos.read(source, 1)")
	var answered any
	answer(t, sb, &answered)
	t.Logf("the next one has a guest after %v", time.Since(began).Round(100*time.Millisecond))
	var left []string
	for time.Since(began) < 2*leaseTime { // one that was just being made is seen at the second look
		if left = sandboxtest.ContainersOf(t, Kubernetes, host.Process.Pid); len(left) == 0 {
			t.Logf("nothing is left after %v", time.Since(began).Round(100*time.Millisecond))
			return
		}
	}
	t.Errorf("%d pods are left: %q", len(left), left)
}

// TestPodReaped: the pods of an owner on another host, who did not renew its lease between two looks, are removed, and
// those of one who did are not, also where the other host is a copy of this one; nor those of one who is seen for the
// first time.
func TestPodReaped(t *testing.T) {
	r := newCluster(t)
	if _, err := r.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	owners := map[string]owner{}
	for i, name := range []string{"gone", "alive", "leaseless", "clone"} {
		o := owner{"ffffffffffff", 1000 + i, "1"}
		if name == "clone" {
			o = owner{thisProcess().host, 1000 + i, "ffffffff-1"}
		}
		owners[name] = o
		e := *r.engine()
		e.owner = o
		pod, err := e.pod(order{name: "codemode-test-" + name, image: sandboxtest.PodImage(), user: Nobody})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		if name != "leaseless" {
			if err := e.takeLease(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { _ = e.release(context.Background(), o.String(), true) })
	}
	there := func(name string) bool {
		return ask(t, "get", "pods", "--selector="+labelOwner+"="+owners[name].String(), "--output=name") != ""
	}
	seen := r.reapPods(t.Context(), r.engine(), nil)
	for name := range owners {
		if !there(name) {
			t.Fatalf("%s: removed at first sight", name)
		}
	}
	for _, name := range []string{"alive", "clone"} {
		alive := *r.engine()
		alive.owner = owners[name]
		ask(t, "patch", "lease", alive.leaseName(), "--type=merge", `--patch={"spec":{"renewTime":"2026-01-01T00:00:00.000000Z"}}`)
	}
	r.reapPods(t.Context(), r.engine(), seen) // a clock that is wrong is a clock that goes
	waitUntil(t, "those of an owner that has gone are left", func() bool { return !there("gone") && !there("leaseless") })
	if !there("alive") || !there("clone") {
		t.Error("the pod of an owner that renews its lease was removed")
	}
}

// TestPodStruck: somebody deletes the pod, or kills its process on the node, or kubectl: the guest has ended, its caller
// knows by what, and nothing is left.
func TestPodStruck(t *testing.T) {
	r := newCluster(t)
	for name, strike := range map[string]func(g *guest) error{
		"deleted": func(g *guest) error {
			ask(t, "delete", "pod", g.name, "--now", "--wait=false")
			return nil
		},
		"kubectl": func(g *guest) error { return g.cmd.Process.Kill() },
		"stopped": func(g *guest) error { // by a deadline of the cluster's
			ask(t, "patch", "pod", g.name, "--type=merge", `--patch={"spec":{"activeDeadlineSeconds":1}}`)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			closeStruck(t, startAndStrike(t, r, strike))
		})
	}
}
