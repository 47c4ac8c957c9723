package main

import (
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

// placement compares calls of codemode, which shares a processor with its guest and its server where that is quicker,
// with those of a go-sdk client that does not; and both with what they are when all their processes are bound to a
// processor from outside.
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
	through := func(name string, bound bool) *side {
		return &side{name: name, run: func() (time.Duration, error) {
			var all []int
			if bound {
				all = append(below(cmd.Process.Pid), cmd.Process.Pid)
			}
			return timedOn0(all, func() error { _, err := python(ctx, host, code); return err })
		}}
	}
	placed, bound := through("codemode", false), through("codemode, all on one", true)
	clientFree := direct("a go-sdk client", nil)
	clientBound := direct("a go-sdk client and its server on one", append(below(os.Getpid()), os.Getpid()))
	if err := turns(b.n, placed, bound, clientFree, clientBound); err != nil {
		return err
	}
	what := fmt.Sprintf("%d sequential calls", placedCalls)
	b.against(what+", codemode against a go-sdk client on any processor", placed, clientFree, 0)
	b.against("the same, against one that shares a processor with its server", placed, clientBound, 0)
	b.against("the same, guest, codemode and server bound to one processor from outside", bound, clientBound, 0)
	b.against("the same of codemode, bound from outside against as it places itself", bound, placed, 0)
	b.against("the same of the client, with a shared processor against without", clientBound, clientFree, 0)
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
