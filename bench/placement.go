package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// placedCalls is how many calls are made between a change of processors and the next.
const placedCalls = 400

// placement measures what calls would gain if those who take turns at one, the guest, codemode and the server, shared a
// processor: they are bound from outside and released again, in turns, and so are a go-sdk client and its server.
func (b *bench) placement(ctx context.Context) error {
	if _, err := exec.LookPath("taskset"); err != nil {
		b.add("calls on one processor", "not measured: there is no taskset", "", "")
		return nil
	}
	host, cmd, err := b.connect(ctx, "MCP_SERVERS_CONFIG="+b.servers("peer", map[string]any{"peer": b.fake()}))
	if err != nil {
		return err
	}
	defer host.Close()
	client, err := b.direct(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := python(ctx, host, `await mcp_peer.echo(message="hello")`); err != nil { // starts the server
		return err
	}
	<-time.After(300 * time.Millisecond) // until the next session's sandbox has been started

	code := fmt.Sprintf(`for _ in range(%d): await mcp_peer.echo(message="hello")`, placedCalls)
	params := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"message": "hello"}}
	through := func(name string, one func() []int) *side {
		return &side{name: name, run: func() (time.Duration, error) {
			return timedOn0(one(), func() error { _, err := python(ctx, host, code); return err })
		}}
	}
	direct := func(name string, one []int) *side {
		return &side{name: name, run: func() (time.Duration, error) {
			return timedOn0(one, func() (err error) {
				for n := 0; n < placedCalls && err == nil; n++ {
					_, err = client.CallTool(ctx, params)
				}
				return err
			})
		}}
	}
	codemode := cmd.Process.Pid
	free := through("codemode", func() []int { return nil })
	two := through("guest and codemode on one processor", func() []int { return append(guests(codemode), codemode) })
	three := through("guest, codemode and server on one", func() []int { return append(below(codemode), codemode) })
	clientFree := direct("a go-sdk client", nil)
	clientBound := direct("a go-sdk client and its server on one", append(below(os.Getpid()), os.Getpid()))
	if err := turns(b.n, free, two, three, clientFree, clientBound); err != nil {
		return err
	}
	what := fmt.Sprintf("%d sequential calls", placedCalls)
	b.against(what+", guest and codemode on one processor, against on any", two, free, 0)
	b.against("the same, guest, codemode and server on one", three, free, 0)
	b.against("the same of a go-sdk client, it and its server on one, against on any", clientBound, clientFree, 0)
	b.against("the same, codemode against the client, none of them bound", free, clientFree, 0)
	b.against("the same, all of them bound", three, clientBound, 0)
	return nil
}

// timedOn0 times what is done while all threads of these processes have processor 0 alone; of none, all are free.
func timedOn0(pids []int, do func() error) (time.Duration, error) {
	bind := func(processors string) error {
		for _, pid := range pids {
			out, err := exec.Command("taskset", "-acp", processors, strconv.Itoa(pid)).CombinedOutput()
			if err != nil {
				return fmt.Errorf("binding process %d: %w: %s", pid, err, out)
			}
		}
		return nil
	}
	if err := bind("0"); err != nil {
		return 0, err
	}
	began := time.Now()
	err := do()
	took := time.Since(began)
	if err := bind("0-1023"); err != nil { // those that there are
		return 0, err
	}
	return took, err
}

// below are all processes that a process has started, directly or not.
func below(pid int) (all []int) {
	for _, child := range children(pid) {
		all = append(append(all, child), below(child)...)
	}
	return all
}

// guests are those of them that run a guest.
func guests(pid int) (all []int) {
	for _, p := range below(pid) {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p)); bytes.Contains(line, []byte("boot.py")) {
			all = append(all, p)
		}
	}
	return all
}
