package testscripts

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"codemode/internal/require"
	"codemode/internal/sandbox/sandboxtest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A node is what .ci/kubernetes/setup has started. Whoever breaks it mends it.
type node struct {
	t   *testing.T
	run string // its folder
}

// newNode skips a test on a cluster that is somebody's.
func newNode(t *testing.T) node {
	t.Helper()
	sandboxtest.NeedCluster(t)
	n := node{t, filepath.Dir(os.Getenv("KUBECONFIG"))}
	if _, err := os.Stat(filepath.Join(n.run, "kubelet.pid")); err != nil {
		t.Skip("this breaks its node, so that must be .ci/kubernetes/setup's")
	}
	t.Cleanup(n.mend)
	return n
}

// signal sends one of the node's programs a signal. One that is killed is started again by mend.
func (n node) signal(program string, sig syscall.Signal) {
	n.t.Helper()
	file := filepath.Join(n.run, program+".pid")
	text, err := os.ReadFile(file)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil {
		err = syscall.Kill(pid, sig)
	}
	if err == nil && sig == syscall.SIGKILL {
		err = os.Remove(file)
	}
	if err != nil {
		n.t.Fatalf("%s: %v", program, err)
	}
}

func (n node) mend() {
	n.t.Helper()
	cmd := exec.Command("../.ci/kubernetes/setup")
	cmd.Env = append(os.Environ(), "WORK="+filepath.Dir(n.run))
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("mending the node: %v: %s", err, out)
	}
	// A node that was not heard of for long is given no pods for a while.
	for deadline := time.Now().Add(time.Minute); n.kubectl("get", "nodes", "--output=jsonpath={.items[*].spec.taints}") != ""; {
		if time.Now().After(deadline) {
			n.t.Fatal("the node is not used again")
		}
	}
}

// kubectl runs a command of the cluster's administrator.
func (n node) kubectl(args ...string) string {
	n.t.Helper()
	out, err := exec.Command("kubectl", args...).CombinedOutput()
	if err != nil {
		n.t.Fatalf("kubectl %q: %v: %s", args, err, out)
	}
	return string(out)
}

// podsOf are the pods of a codemode, by its process, as kubectl selects them.
func podsOf(pid int) string { return "--selector=codemode.pid=" + strconv.Itoa(pid) }

// killKubectl kills the commands that hold the guests of a codemode.
func (n node) killKubectl(pid int) {
	n.t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	killed := 0
	for _, file := range files {
		text, _ := os.ReadFile(file) // a thread that has ended has none
		for _, child := range strings.Fields(string(text)) {
			line, _ := os.ReadFile("/proc/" + child + "/cmdline")
			if child, _ := strconv.Atoi(child); child > 0 && bytes.Contains(line, []byte("\x00exec\x00")) {
				killed++
				_ = syscall.Kill(child, syscall.SIGKILL)
			}
		}
	}
	if killed == 0 {
		n.t.Error("no kubectl was found: this would prove nothing")
	}
}

// evict has the cluster evict the pods of a codemode, as it does when a node has too little of something.
func (n node) evict(pid int) {
	n.t.Helper()
	for name := range strings.FieldsSeq(n.kubectl("get", "pods", podsOf(pid), "--output=jsonpath={.items[*].metadata.name}")) {
		cmd := exec.Command("kubectl", "create", "--raw", "/api/v1/namespaces/default/pods/"+name+"/eviction", "--filename=-")
		cmd.Stdin = strings.NewReader(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"` + name + `"}}`)
		if out, err := cmd.CombinedOutput(); err != nil {
			n.t.Errorf("evicting: %v: %s", err, out)
		}
	}
}

// holds are what may happen to a pod that is in use.
var holds = []struct {
	name   string
	strike func(n node, pid int)
	says   string // to who had it
}{
	{"kubectl is killed", node.killKubectl, "the connection to the pod was lost"},
	{"somebody deletes it", func(n node, pid int) { n.kubectl("delete", "pods", podsOf(pid), "--wait=false") }, "somebody has deleted the pod"},
	{"it is evicted", node.evict, "Evicted: EvictionByEvictionAPI"},
	{"its node is drained", func(n node, pid int) {
		n.kubectl("drain", "localhost", "--pod-selector=codemode.pid="+strconv.Itoa(pid), "--force", "--delete-emptydir-data", "--timeout=60s")
		n.kubectl("uncordon", "localhost")
	}, "Evicted: EvictionByEvictionAPI"},
	{"the kubelet is killed", func(n node, _ int) { n.signal("kubelet", syscall.SIGKILL) }, "the connection to the pod was lost"},
	{"the API server is killed", func(n node, _ int) { n.signal("apiserver", syscall.SIGKILL) }, "the connection to the pod was lost"},
}

// TestPodsStruck: whatever happens to a pod in the midst of a run, that ends with 125, or says that the session's
// variables are lost; the next one works when the cluster does, and nothing is left.
func TestPodsStruck(t *testing.T) {
	n := newNode(t)
	p := newProgram(t, "kubernetes", "kubernetes")
	for _, c := range holds {
		t.Run(c.name, func(t *testing.T) {
			n := node{t, n.run}
			t.Cleanup(n.mend)
			serve := p.with("CODEMODE_RUN_TIMEOUT=120s").command("serve")
			cs := connect(t, serve)
			if _, failed, err := runPython(t.Context(), cs, "x = 41"); failed {
				t.Fatal(err)
			}
			type result struct {
				text string
				err  error
			}
			ended := make(chan result, 1)
			go func() {
				text, _, err := runPython(t.Context(), cs, "import time\ntime.sleep(600)")
				ended <- result{text, err}
			}()
			once, said := p.holding(t)
			for _, pid := range []int{once.Process.Pid, serve.Process.Pid} {
				if len(p.containers(t, pid)) == 0 {
					t.Error("its pods cannot be found: this test would prove nothing")
				}
			}
			began := time.Now()
			c.strike(n, once.Process.Pid)
			if !strings.HasPrefix(c.name, "the ") { // that was for both
				c.strike(n, serve.Process.Pid)
			}
			if err := wait(once); once.ProcessState.ExitCode() != 125 || !strings.Contains(said.String(), c.says) ||
				!strings.Contains(said.String(), "codemode: hint: ") {
				t.Errorf("exec ended with %v: %s", err, said)
			}
			if strings.Contains(said.String(), "command terminated") || strings.Contains(said.String(), "Unhandled Error") {
				t.Errorf("kubectl's words are taken for the program's: %s", said)
			}
			select {
			case got := <-ended:
				if got.err != nil || !strings.Contains(got.text, "variables are lost") || !strings.Contains(got.text, c.says) {
					t.Errorf("the run: %v: %s", got.err, got.text)
				}
			case <-time.After(time.Minute):
				t.Fatal("the run hangs")
			}
			t.Logf("told after %v: %s", time.Since(began).Round(100*time.Millisecond), said)
			n.mend()
			p.works(t, cs)
			if err := cs.Close(); err != nil || serve.ProcessState.ExitCode() != 0 {
				t.Errorf("serve ended with %v, %v", serve.ProcessState, err)
			}
			p.leavesNone(t, once.Process.Pid, serve.Process.Pid)
		})
	}
}

// holding starts a program that does not end, in a pod, and returns when it runs.
func (p program) holding(t *testing.T, flags ...string) (cmd *exec.Cmd, said *bytes.Buffer) {
	t.Helper()
	cmd, said = p.command(append([]string{"exec", "-c", stubborn}, flags...)...), &bytes.Buffer{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("it printed %q, %v: %s", line, err, said)
	}
	return cmd, said
}

var errHangs = errors.New("it hangs")

// wait waits for a program that must end by itself.
func wait(cmd *exec.Cmd) error {
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !timer.Stop() {
		return errHangs
	}
	return err
}

// works has a session go on, as soon as the cluster does.
func (p program) works(t *testing.T, cs *mcp.ClientSession) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		text, failed, err := runPython(t.Context(), cs, "40 + 2")
		if !failed && strings.Contains(text, "42") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the next run: %v: %s", err, text)
		}
	}
}

// leavesNone waits until no pods of codemodes that have ended are left, which the next one looks for.
func (p program) leavesNone(t *testing.T, pids ...int) {
	t.Helper()
	if out, err := p.command("exec", "-c", "pass").CombinedOutput(); err != nil {
		t.Errorf("the next codemode: %v: %s", err, out)
	}
	for _, pid := range pids {
		var left []string
		for deadline := time.Now().Add(30 * time.Second); ; {
			if left = p.containers(t, pid); len(left) == 0 || time.Now().After(deadline) {
				break
			}
		}
		if len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestPodsAway: while the API server is away, for a minute where what takes long is asked for, each run ends with 125 and none hangs; when it is back, the
// session goes on. One that stands still is no other: a run ends in its time.
func TestPodsAway(t *testing.T) {
	n := newNode(t)
	p := newProgram(t, "kubernetes", "kubernetes")
	t.Run("killed", func(t *testing.T) {
		n := node{t, n.run}
		t.Cleanup(n.mend)
		serve := p.command("serve")
		cs := connect(t, serve)
		if _, failed, err := runPython(t.Context(), cs, "x = 41"); failed {
			t.Fatal(err)
		}
		n.signal("apiserver", syscall.SIGKILL)
		runs, slowest, away := 0, time.Duration(0), 10*time.Second
		if require.Named("soak") {
			away = time.Minute
		}
		for began := time.Now(); time.Since(began) < away; runs++ {
			begun := time.Now()
			text, failed, err := runPython(t.Context(), cs, "x")
			if err != nil || !failed || !strings.Contains(text, "kubectl cluster-info") && runs > 0 {
				t.Fatalf("run %d: %v: %s", runs, err, text)
			}
			out, err := p.command("exec", "-c", "print(1)").CombinedOutput()
			if exit := (&exec.ExitError{}); !errors.As(err, &exit) || exit.ExitCode() != 125 {
				t.Fatalf("exec: %v: %s", err, out)
			}
			slowest = max(slowest, time.Since(begun))
		}
		t.Logf("%d runs, the slowest pair took %v", runs, slowest.Round(10*time.Millisecond))
		n.mend()
		p.works(t, cs)
		_ = cs.Close()
		p.leavesNone(t, serve.Process.Pid)
	})
	t.Run("stands still", func(t *testing.T) {
		n := node{t, n.run}
		t.Cleanup(func() { n.signal("apiserver", syscall.SIGCONT) })
		serve := p.with("CODEMODE_RUN_TIMEOUT=5s").command("serve")
		cs := connect(t, serve)
		if _, failed, err := runPython(t.Context(), cs, "x = 41"); failed {
			t.Fatal(err)
		}
		once, said := p.holding(t, "--timeout", "5s")
		n.signal("apiserver", syscall.SIGSTOP)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		text, failed, err := runPython(ctx, cs, "import time\ntime.sleep(600)")
		if err != nil || !failed || !strings.Contains(text, "timeout") {
			t.Errorf("the run: %v: %s", err, text)
		}
		if err := wait(once); once.ProcessState.ExitCode() != 124 {
			t.Errorf("exec: %v: %s", err, said)
		}
		t.Logf("both were over after %v", time.Since(began).Round(100*time.Millisecond))
		n.signal("apiserver", syscall.SIGCONT)
		p.works(t, cs)
		_ = cs.Close()
		p.leavesNone(t, once.Process.Pid, serve.Process.Pid)
	})
}
