package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// montyStart is a program of one line, for an interpreter of Python's that is no CPython.
const montyStart = `import { Monty } from '@pydantic/monty'
new Monty('print(1)').run({ printCallback: (_, text) => { process.stdout.write(text) } })
`

// notMeasured are peers that cannot be had where the published table was measured, and why.
const notMeasured = "`@utcp/code-mode` (its isolated-vm does not compile for Node 20), mcpproxy-go and docker's " +
	"mcp-gateway (the Go module proxy has neither)"

// peers compares a whole process that prints 1, in all the ways that are there: what no sandbox costs, other sandboxes,
// and an interpreter written for this.
func (b *bench) peers(ctx context.Context) error {
	process := func(name string, command func() *exec.Cmd) *side {
		return &side{name: name, run: func() (time.Duration, error) { return timed(command()) }}
	}
	bare := process("python3", func() *exec.Cmd { return exec.Command(b.python, "-I", "-c", "print(1)") })
	ours := process("codemode exec", func() *exec.Cmd { return b.command(nil, "exec", "-c", "print(1)") })
	sides := []*side{bare, ours}
	image := cmp.Or(os.Getenv("CODEMODE_TEST_IMAGE"), "localhost/codemode-test:latest")
	for _, peer := range []*side{
		process("bwrap, and python3", func() *exec.Cmd {
			return exec.Command("bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-all",
				"--die-with-parent", "--new-session", b.python, "-I", "-c", "print(1)")
		}),
		process("podman run", func() *exec.Cmd {
			return exec.Command("podman", "run", "--rm", "--network=none", "--ulimit=nofile=1024:1024",
				"--ulimit=nproc=1024:1024", image, "python3", "-I", "-c", "print(1)")
		}),
		process("monty, in node", func() *exec.Cmd {
			return exec.CommandContext(ctx, "node", filepath.Join(b.npm, "monty.mjs"))
		}),
	} {
		if peer.name == "monty, in node" && !b.writeMonty() {
			b.add(peer.name, "not measured: no @pydantic/monty in the npm prefix", "", "")
			continue
		}
		if _, err := peer.run(); err != nil {
			b.add(peer.name, fmt.Sprintf("not measured: %.200v", err), "", "")
			continue
		}
		sides = append(sides, peer)
	}
	defer os.Remove(filepath.Join(b.npm, "monty.mjs"))
	if err := turns(b.n, sides...); err != nil {
		return err
	}
	b.show("start", sides...)
	for _, peer := range sides[1:] {
		target := 0.0
		if peer == ours {
			target = 2
		}
		b.against("a process that prints 1: "+peer.name+", against bare `python3 -I -c`", peer, bare, target)
	}
	b.add("peers that are not measured", notMeasured, "", "")
	return nil
}

// writeMonty puts the program where node finds the package, if that is there.
func (b *bench) writeMonty() bool {
	if _, err := os.Stat(filepath.Join(b.npm, "node_modules", "@pydantic", "monty")); err != nil {
		return false
	}
	return os.WriteFile(filepath.Join(b.npm, "monty.mjs"), []byte(montyStart), 0o600) == nil
}
