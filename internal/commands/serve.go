package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"sync"

	"codemode/internal/bridge"
	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/upstream"

	"github.com/urfave/cli/v3"
)

func serveCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "serve MCP on stdin and stdout: the one tool run_python",
		Description: "An AI client starts this. Nothing else is started before code needs it; logs\n" +
			"go to stderr. It ends when the client goes away.",
		Flags: append(settingFlags("servers-file", "tenant", "runtime", "python", "memory", "pull"), configFlag()),
		Metadata: examples(
			`claude mcp add codemode -- codemode serve`,
			`{"mcpServers": {"codemode": {"command": "codemode", "args": ["serve"]}}}`,
			`CODEMODE_LOG_LEVEL=debug codemode serve --servers-file team.json`,
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return &usageError{"serve takes no arguments, but there is " + quote(cmd.Args().First()), []string{"see: codemode serve --help"}}
			}
			return runServe(ctx, env, ui, cmd)
		},
	}
}

func runServe(ctx context.Context, env Env, ui *ui, cmd *cli.Command) error {
	ctx, stop := signal.NotifyContext(ctx, endSignals...)
	defer stop()
	defer ignoreBrokenPipe()()
	t, err := openTenancy(env, cmd)
	if err != nil {
		return err
	}
	log := newLog(env, t.config)
	if err := loop(t.config, upstream.Depth(env.Lookup)); err != nil {
		ui.warn(err.Error(), hint.Of(err)...)
		if err = bridge.Refuse(ctx, env.Stdin, unclosed{env.Stdout}, readVersion().Version, err, log); ctx.Err() != nil {
			err = nil
		}
		return err
	}
	t.telemetry = newTelemetry(env, func(text string) { log.Warn(text) })
	defer t.telemetry.Close()
	b, err := t.serveBridge(ui, log)
	if err != nil {
		return err
	}
	if isTerminal(env.Stdin) {
		ui.note("serve", "waiting for an MCP client; see: codemode help serve")
	}
	var reloading sync.WaitGroup
	served, stopReloading := context.WithCancel(ctx)
	r := newReloader(t, cmd, b, log)
	reloading.Go(func() { r.run(served) })
	err = b.Serve(ctx, env.Stdin, unclosed{env.Stdout})
	if ctx.Err() != nil {
		err = nil // told to end, which is what it did
	}
	stopReloading()
	reloading.Wait()
	return errors.Join(err, b.Close())
}

// loopError is a codemode serve that codemode has started, which would start every server again.
type loopError struct{ depth int }

func (e *loopError) Error() string {
	return fmt.Sprintf("codemode serve is not started: codemode itself has started it as one of its servers (%d above it), and would again", e.depth)
}

// Hint is how to end that, or to allow it.
func (e *loopError) Hint() []string {
	return []string{"remove that server; codemode servers lists them. If it is meant: mcp.allow_self = true in config.toml"}
}

// loop says whether serve is its own server. Who allows that may go some levels deep.
func loop(c config.Config, depth int) error {
	if depth == 0 || c.Servers.AllowSelf && depth <= upstream.MaxDepth {
		return nil
	}
	return &loopError{depth}
}

// unclosed keeps the process's stdout open for whoever closes the stream over it.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
