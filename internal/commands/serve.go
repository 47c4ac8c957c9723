package commands

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"sync"

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
	log := newLog(env, t.config.Log.Level)
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

// unclosed keeps the process's stdout open for whoever closes the stream over it.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
