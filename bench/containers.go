package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// containers measures the runtimes of the container engines that are there and have the image.
func (b *bench) containers(ctx context.Context) error {
	image := cmp.Or(os.Getenv("CODEMODE_TEST_IMAGE"), "localhost/codemode-test:latest")
	for _, name := range []string{"podman", "docker"} {
		if out, err := exec.CommandContext(ctx, name, "image", "inspect", image).CombinedOutput(); err != nil {
			b.add(name, fmt.Sprintf("not measured: %v: %s", err, lastLine(out)), "", "")
			continue
		}
		env := append(outer(), "CODEMODE_SANDBOX_IMAGE="+image, "CODEMODE_DISCOVERY_SOURCES=none")
		e := engine{
			bench: b, name: name, env: env,
			later: 2 * time.Millisecond, pool: 10 * time.Millisecond, nativeTimes: 1.2,
		}
		for _, measure := range []func(context.Context) error{e.first, e.pooled, e.calls} {
			if err := measure(ctx); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// outer is the environment of whoever measures, which says where engines and images are, without what is codemode's.
func outer() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "CODEMODE_") || strings.HasPrefix(v, "MCP_") ||
			strings.HasPrefix(v, "XDG_CACHE_HOME=")
	})
}

func lastLine(out []byte) string {
	out = bytes.TrimSpace(out)
	return string(out[bytes.LastIndexByte(out, '\n')+1:])
}

// engine measures one engine.
type engine struct {
	*bench
	name string
	env  []string

	later, pool time.Duration // targets of a later run, and of the first where a container waits
	nativeTimes float64       // the target of calls
}

func (e *engine) serve(ctx context.Context, pool int) (*mcp.ClientSession, *exec.Cmd, error) {
	env := append(slices.Clone(e.env), "CODEMODE_SANDBOX_RUNTIME="+e.name, fmt.Sprint("CODEMODE_SANDBOX_POOL=", pool))
	return e.connect(ctx, env...)
}

// rounds is how often a container is started for a figure: each takes long, and stays until its session ends.
func (e *engine) rounds() int { return max(5, min(10, e.n/3)) }

// first compares the first run of a session with the engine's own command for the same container, and then measures
// later runs.
func (e *engine) first(ctx context.Context) error {
	cs, serve, err := e.serve(ctx, 0)
	if err != nil {
		return err
	}
	defer cs.Close()
	if _, err := python(ctx, cs, "print(1)"); err != nil { // finds the engine
		return err
	}
	running := engineRuns(serve.Process.Pid)
	if len(running) != 1 {
		return fmt.Errorf("%d commands of the engine run after the first start; expected one", len(running))
	}
	var ours, plain []time.Duration
	for i := range e.rounds() {
		began := time.Now()
		if _, err := pythonIn(ctx, cs, fmt.Sprint("s", i), "print(1)"); err != nil {
			return err
		}
		ours = append(ours, time.Since(began))
		d, err := timed(plainRun(running[0], fmt.Sprintf("codemode-bench-%d-%d", os.Getpid(), i)))
		if err != nil {
			return err
		}
		plain = append(plain, d)
	}
	o, p := median(ours), median(plain)
	ratio := float64(o) / float64(p)
	what := "%s: first `run_python(\"print(1)\")` of a session, pool empty, " +
		"against `%[1]s run … python3 -c 'print(1)'` with the same flags"
	e.add(fmt.Sprintf(what, e.name),
		fmt.Sprintf("%s against %s: %.2f ×", ms(o), ms(p), ratio), "1.15 ×", met(ratio <= 1.15))
	return e.laterRuns(ctx, cs)
}

// laterRuns measures runs of a session that has had others.
func (e *engine) laterRuns(ctx context.Context, cs *mcp.ClientSession) error {
	var later []time.Duration
	for range 10 * e.n {
		began := time.Now()
		if _, err := python(ctx, cs, "print(1)"); err != nil {
			return err
		}
		later = append(later, time.Since(began))
	}
	m := median(later)
	e.add(e.name+": later `run_python(\"print(1)\")`", ms(m), e.later.String(), met(m <= e.later))
	return nil
}

// pooled measures the first run of a session that takes a container which waits.
func (e *engine) pooled(ctx context.Context) error {
	cs, serve, err := e.serve(ctx, 1)
	if err != nil {
		return err
	}
	defer cs.Close()
	if _, err := python(ctx, cs, "print(1)"); err != nil {
		return err
	}
	var took []time.Duration
	for i := range e.rounds() {
		if err := settled(ctx, serve.Process.Pid, i+2); err != nil { // one of each session, and the one that waits
			return err
		}
		began := time.Now()
		if _, err := pythonIn(ctx, cs, fmt.Sprint("s", i), "print(1)"); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	m := median(took)
	e.add(e.name+": the same with a pool of 1", ms(m), e.pool.String(), met(m <= e.pool))
	return nil
}

// settled waits until so many containers have been started, and a little more for the last one's Python: nothing tells
// from outside that it waits.
func settled(ctx context.Context, pid, containers int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for wait := 10 * time.Millisecond; ; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the pool: %w", ctx.Err())
		case <-time.After(wait):
		}
		if wait > time.Second {
			return nil
		}
		if len(engineRuns(pid)) >= containers {
			wait = 2 * time.Second
		}
	}
}

// calls compares 1,000 calls in one run with the same on the native runtime.
func (e *engine) calls(ctx context.Context) error {
	env := append(slices.Clone(e.env), "MCP_SERVERS_CONFIG="+e.servers("peer", map[string]any{"peer": e.fake()}))
	var took [2][]time.Duration
	for range e.rounds() {
		for i, runtime := range []string{e.name, "native"} {
			on := append(slices.Clone(env), "CODEMODE_SANDBOX_RUNTIME="+runtime)
			d, err := e.callsThrough(ctx, `await mcp_peer.echo(message="hello")`, on...)
			if err != nil {
				return err
			}
			took[i] = append(took[i], d)
		}
	}
	o, n := median(took[0]), median(took[1])
	ratio := float64(o) / float64(n)
	e.add(e.name+": 1,000 sequential tool calls in one run, against the native runtime",
		fmt.Sprintf("%s against %s: %.2f ×", ms(o), ms(n), ratio),
		fmt.Sprintf("%.1f ×", e.nativeTimes), met(ratio <= e.nativeTimes))
	return nil
}

// engineRuns are the command lines with which a codemode process has an engine run containers, or reaches its pods.
func engineRuns(pid int) (commands [][]string) {
	for _, child := range children(pid) {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
		args := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
		if slices.Contains(args, "run") || slices.Contains(args, "exec") {
			commands = append(commands, args)
		}
	}
	return commands
}

// plainRun is an engine's command line without codemode: under another name, without the channel, and with a program
// that only prints.
func plainRun(args []string, name string) *exec.Cmd {
	var plain []string
	for i := 0; i < len(args) && args[i] != "-I"; i++ { // what follows is codemode's way to start Python
		switch args[i] {
		case "--preserve-fds", "--mount": // the channel, one way or the other
			i++
		case "--name":
			plain = append(plain, "--name", name)
			i++
		default:
			plain = append(plain, args[i])
		}
	}
	return exec.Command(plain[0], append(plain[1:], "-c", "print(1)")...)
}
