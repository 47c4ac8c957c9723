package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// pods measures the runtime kubernetes in the cluster that kubectl reaches, in its current namespace.
func (b *bench) pods(ctx context.Context) error {
	if out, err := exec.CommandContext(ctx, "kubectl", "get", "pods").CombinedOutput(); err != nil {
		b.add("kubernetes", fmt.Sprintf("not measured: %v: %s", err, lastLine(out)), "", "")
		return nil
	}
	e := b.cluster()
	for _, measure := range []func(context.Context) error{e.firstPod, e.pooled, e.calls, e.podPayloads, e.podSizes} {
		if err := measure(ctx); err != nil {
			return fmt.Errorf("kubernetes: %w", err)
		}
	}
	return nil
}

func (b *bench) cluster() *engine {
	image := cmp.Or(os.Getenv("CODEMODE_TEST_POD_IMAGE"), "localhost/codemode-test:pod")
	return &engine{
		bench: b, name: "kubernetes",
		env:   append(outer(), "CODEMODE_SANDBOX_IMAGE="+image, "CODEMODE_DISCOVERY_SOURCES=none"),
		later: 3 * time.Millisecond, pool: 250 * time.Millisecond, nativeTimes: 2,
	}
}

// podRate is how many sessions begin in a second when many do at once, without a pool and with one that has them all.
func (b *bench) podRate(ctx context.Context) error {
	const sessions = 16
	for _, pool := range []int{0, sessions} {
		e := b.cluster()
		cs, serve, err := e.serve(ctx, pool)
		if err != nil {
			return err
		}
		defer cs.Close()
		if _, err := python(ctx, cs, "print(1)"); err != nil { // finds the cluster, and begins to fill the pool
			return err
		}
		if err := settled(ctx, serve.Process.Pid, pool+1); err != nil {
			return err
		}
		began, failed := time.Now(), make(chan error, sessions)
		for i := range sessions {
			go func() {
				_, err := pythonIn(ctx, cs, fmt.Sprint("s", i), "print(1)")
				failed <- err
			}()
		}
		for range sessions {
			err = cmp.Or(err, <-failed)
		}
		if err != nil {
			return fmt.Errorf("kubernetes: %w", err)
		}
		took := time.Since(began)
		e.add(fmt.Sprintf("kubernetes: %d sessions begun at once, with a pool of %d", sessions, pool),
			fmt.Sprintf("%s: %.1f a second", ms(took), sessions/took.Seconds()), "", "")
	}
	return nil
}

// firstPod compares the first run of a session with the same pod made by hand, and then measures later runs.
func (e *engine) firstPod(ctx context.Context) error {
	cs, serve, err := e.serve(ctx, 0)
	if err != nil {
		return err
	}
	defer cs.Close()
	if _, err := python(ctx, cs, "print(1)"); err != nil { // finds the cluster
		return err
	}
	pod, err := likePodOf(serve.Process.Pid)
	if err != nil {
		return err
	}
	n := 0
	var created []time.Duration
	ours := &side{name: "codemode", run: func() (time.Duration, error) {
		n++
		began := time.Now()
		_, err := pythonIn(ctx, cs, fmt.Sprint("s", n), "print(1)")
		return time.Since(began), err
	}}
	plain := &side{name: "kubectl", run: func() (time.Duration, error) {
		began := time.Now()
		h, err := pod.make(n)
		if err != nil {
			return 0, err
		}
		defer h.remove()
		made := time.Now()
		err = h.untilExec("print(1)")
		if n > 1 { // as turns counts
			created = append(created, time.Since(made))
		}
		return time.Since(began), err
	}}
	if err := turns(e.rounds(), ours, plain); err != nil {
		return err
	}
	e.against("kubernetes: first `run_python(\"print(1)\")` of a session, pool empty, against `kubectl create` of the "+
		"same pod and the first `kubectl exec … python3 -c 'print(1)'` in it that works", ours, plain, 1.2)
	e.add("kubernetes: of the latter, behind `kubectl create`", spreadOf(created).String(), "", "")
	return e.laterRuns(ctx, cs)
}

// A podByHand is a pod as codemode makes them, but for its name and labels.
type podByHand struct{ spec json.RawMessage }

// likePodOf takes what the cluster knows of a pod of that codemode's.
func likePodOf(pid int) (p podByHand, err error) {
	mine := fmt.Sprint("--selector=codemode.pid=", pid)
	out, err := exec.Command("kubectl", "get", "pods", "--output=json", mine).Output()
	if err != nil {
		return p, fmt.Errorf("looking for a pod: %w", err)
	}
	var list struct {
		Items []struct{ Spec map[string]any }
	}
	if err := json.Unmarshal(out, &list); err != nil || len(list.Items) != 1 {
		return p, fmt.Errorf("%d pods, expected one: %w", len(list.Items), err)
	}
	spec := list.Items[0].Spec
	delete(spec, "nodeName") // the scheduler's
	p.spec, err = json.Marshal(spec)
	return p, err
}

// handmade is the name of a pod that was made by hand.
type handmade string

func (p podByHand) make(n int) (handmade, error) {
	name := fmt.Sprintf("codemode-bench-%d-%d", os.Getpid(), n)
	create := exec.Command("kubectl", "create", "--filename=-")
	create.Stdin = strings.NewReader(fmt.Sprintf(
		`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q}, "spec": %s}`, name, p.spec,
	))
	_, err := timed(create)
	return handmade(name), err
}

func (h handmade) remove() {
	_ = exec.Command("kubectl", "delete", "pod", string(h), "--grace-period=0", "--force", "--wait=false").Run()
}

func (h handmade) python(code string) *exec.Cmd {
	return exec.Command("kubectl", "exec", "--stdin", "--quiet", string(h), "--", "python3", "-I", "-c", code)
}

// untilExec tries until it works, for a minute.
func (h handmade) untilExec(code string) (err error) {
	for began := time.Now(); time.Since(began) < time.Minute; {
		if err = h.python(code).Run(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("no exec in %s: %w", h, err)
}

// echoCode says that it is there, reads so many bytes, and writes so many.
const echoCode = `import sys
sys.stdout.buffer.write(b"!"); sys.stdout.flush()
left = %d
while left: left -= len(sys.stdin.buffer.read1(left))
sys.stdout.buffer.write(b"x" * %d); sys.stdout.flush()`

// stream is how long kubectl's own stream takes for so many bytes there, and so many back.
func (h handmade) stream(there, back int) (time.Duration, error) {
	cmd := h.python(fmt.Sprintf(echoCode, there, back))
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	read := bufio.NewReader(out)
	_, err = read.ReadByte()
	began := time.Now()
	_, werr := in.Write(make([]byte, there))
	_, rerr := io.Copy(io.Discard, read) // to its end
	took := time.Since(began)
	if err := cmp.Or(err, werr, rerr, cmd.Wait()); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", cmd, err, said.Bytes())
	}
	return took, nil
}

// podPayloads compares what is large with the same natively, and with kubectl's own stream.
func (e *engine) podPayloads(ctx context.Context) error {
	cs, serve, err := e.serve(ctx, 0)
	if err != nil {
		return err
	}
	defer cs.Close()
	if _, err := python(ctx, cs, "print(1)"); err != nil {
		return err
	}
	pod, err := likePodOf(serve.Process.Pid)
	if err != nil {
		return err
	}
	h, err := pod.make(0)
	if err != nil {
		return err
	}
	defer h.remove()
	if err := h.untilExec("print(1)"); err != nil {
		return err
	}
	file := "MCP_SERVERS_CONFIG=" + e.servers("peer", map[string]any{"peer": e.fake()})
	for _, p := range []struct {
		what, code  string
		there, back int
	}{
		{"one 30 MiB tool result", `len(str(await mcp_peer.big(n=30 << 20)))`, 30 << 20, 0},
		{
			"one 10 MiB argument, which comes back",
			`len(str(await mcp_peer.echo(message="x" * (10 << 20))))`, 10 << 20, 10 << 20,
		},
	} {
		through := func(runtime string) *side {
			return &side{name: runtime, run: func() (time.Duration, error) {
				env := append(slices.Clone(e.env), file, "CODEMODE_SANDBOX_RUNTIME="+runtime)
				return e.inRun(ctx, `await mcp_peer.echo(message="x")`, p.code, env...)
			}}
		}
		ours, native := through(e.name), through("native")
		bare := &side{name: "kubectl exec", run: func() (time.Duration, error) { return h.stream(p.there, p.back) }}
		if err := turns(5, ours, native, bare); err != nil {
			return err
		}
		e.against("kubernetes: "+p.what+", against as many bytes through `kubectl exec`", ours, bare, 2)
		e.against("kubernetes: the same, against the native runtime", ours, native, 0)
	}
	return nil
}

// podSizes are what a session costs: memory on both sides, and requests to the API server.
func (e *engine) podSizes(ctx context.Context) error {
	const sessions = 5
	cs, serve, err := e.serve(ctx, 0)
	if err != nil {
		return err
	}
	defer cs.Close()
	if _, err := python(ctx, cs, "print(1)"); err != nil { // finds the cluster
		return err
	}
	before, err := apiRequests()
	if err != nil {
		return err
	}
	for i := range sessions {
		if _, err := pythonIn(ctx, cs, fmt.Sprint("s", i), "print(1)"); err != nil {
			return err
		}
	}
	var client int64
	for _, pid := range children(serve.Process.Pid) {
		if commandOf(pid) == "kubectl" {
			client += private(pid)
		}
	}
	pods, shims, err := podMemory(serve.Process.Pid)
	if err != nil {
		return err
	}
	each := func(kb int64) string { return fmt.Sprintf("%.1f MB", float64(kb)/1024/(sessions+1)) }
	e.add("kubernetes: private memory of an idle session: kubectl, the pod's processes, the node's beside them",
		each(client)+", "+each(pods)+", "+each(shims), "", "")
	cs.Close()
	<-time.After(5 * time.Second) // the cluster removes pods behind it
	after, err := apiRequests()
	if err != nil {
		return err
	}
	var parts []string
	total := 0
	for what, n := range after {
		if n -= before[what]; n >= sessions {
			parts, total = append(parts, fmt.Sprintf("%s %.1f", what, float64(n)/sessions)), total+n
		}
	}
	slices.Sort(parts)
	e.add("kubernetes: what the API server is asked about pods and events, by all, for a session of one run",
		fmt.Sprintf("%.1f requests: %s", float64(total)/sessions, strings.Join(parts, ", ")), "", "")
	return nil
}

// podMemory is what processes of that codemode's pods hold, and those that look after them, where the node is this
// machine.
func podMemory(pid int) (pods, beside int64, err error) {
	out, err := exec.Command("kubectl", "get", "pods", fmt.Sprint("--selector=codemode.pid=", pid),
		"--output=jsonpath={.items[*].metadata.uid}").Output()
	if err != nil {
		return 0, 0, fmt.Errorf("looking for pods: %w", err)
	}
	shims := map[int]bool{}
	groups, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, uid := range strings.Fields(string(out)) {
		for _, group := range groups {
			if text, _ := os.ReadFile(group); !bytes.Contains(text, []byte(uid)) {
				continue
			}
			var in int
			fmt.Sscanf(group, "/proc/%d/cgroup", &in)
			pods += private(in)
			if parent := int(status(in, "PPid:")); strings.HasPrefix(commandOf(parent), "containerd-shim") {
				shims[parent] = true
			}
		}
	}
	for shim := range shims {
		beside += private(shim)
	}
	return pods, beside, nil
}

// apiRequests counts what the API server has answered about pods and events.
func apiRequests() (map[string]int, error) {
	out, err := exec.Command("kubectl", "get", "--raw", "/metrics").Output()
	if err != nil {
		return nil, fmt.Errorf("asking the API server for its metrics: %w", err)
	}
	counts := map[string]int{}
	for _, m := range requestCount.FindAllSubmatch(out, -1) {
		var n int
		fmt.Sscan(string(m[4]), &n)
		counts[strings.TrimSuffix(fmt.Sprintf("%s %s/%s", m[3], m[1], m[2]), "/")] += n
	}
	return counts, nil
}

var requestCount = regexp.MustCompile(
	`apiserver_request_total\{.*resource="(pods|events)",.*subresource="(\w*)",verb="(\w+)",.*\} (\d+)`,
)
