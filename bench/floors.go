package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// plainCalls is a client in bare Python: it makes 1,000 calls, parses each answer, and prints the nanoseconds.
const plainCalls = `
import json, subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
out = open(server.stdout.fileno(), "rb", closefd=False)
def ask(id, method, params):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n")
    return json.loads(out.readline())["result"]
ask(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}})
server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
call = {"name": "echo", "arguments": {"message": "hello"}}
ask(2, "tools/call", call)
began = time.perf_counter_ns()
for id in range(3, 1003):
    ask(id, "tools/call", call)
print(time.perf_counter_ns() - began)
server.stdin.close()
server.wait()
`

// floors measures what no program in codemode's place could do without: a process between Python and the server that
// only copies, and the starts of 16 interpreters.
func (b *bench) floors(ctx context.Context) error {
	server := b.fake()
	command := append([]string{server["command"].(string)}, server["args"].([]string)...)
	calls := func(name string, program []string) *side {
		return &side{name: name, run: func() (time.Duration, error) {
			args := append([]string{"-I", "-c", plainCalls}, program...)
			out, err := exec.CommandContext(ctx, b.python, args...).Output()
			if err != nil {
				return 0, err
			}
			took, err := strconv.Atoi(strings.TrimSpace(string(out)))
			return time.Duration(took), err
		}}
	}
	direct := &side{name: "a go-sdk client", run: func() (time.Duration, error) {
		return callsDirect(ctx, server, "echo", map[string]any{"message": "hello"})
	}}
	bare := calls("bare Python", command)
	relayed := calls("bare Python, and a process between that only copies",
		append([]string{command[0], "relay"}, command...))
	if err := turns(b.n, direct, bare, relayed); err != nil {
		return err
	}
	for _, s := range []*side{bare, relayed} {
		b.against("1,000 sequential calls of "+s.name+", against a go-sdk client", s, direct, 0)
	}
	var each []time.Duration
	for range max(5, b.n/6) {
		var all errgroup.Group
		began := time.Now()
		for range 16 {
			all.Go(exec.CommandContext(ctx, b.python, "-I", "-c", "print(1)").Run)
		}
		if err := all.Wait(); err != nil {
			return err
		}
		each = append(each, time.Since(began)/16)
	}
	b.add("16 bare `python3 -I -c` begun at once, each", spreadOf(each).String(), "", "")
	return nil
}

// relay starts a program and copies between it and its own caller, as the least that can stand between them.
func relay(args []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	from, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return 1
	}
	go func() {
		// Not by splice, which codemode cannot either.
		_, _ = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{os.Stdin})
		_ = to.Close()
	}()
	_, _ = io.Copy(struct{ io.Writer }{os.Stdout}, struct{ io.Reader }{from})
	if cmd.Wait() != nil {
		return 1
	}
	return 0
}
