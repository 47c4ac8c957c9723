package commands

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"strings"

	"codemode/internal/config"

	"github.com/urfave/cli/v3"
)

func serveCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "serve MCP on stdin and stdout: the one tool run_python",
		Description: "An AI client starts this. Nothing else is started before code needs it; logs\n" +
			"go to stderr. It ends when the client goes away.",
		Flags: append(settingFlags("servers-file", "runtime", "python", "memory"), configFlag()),
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
	c, err := load(env, cmd)
	if err != nil {
		return err
	}
	found, err := discover(env, cmd, c)
	if err != nil {
		return err
	}
	log := newLog(env, c.Log.Level)
	for _, unknown := range config.UnknownVariables(env.Environ) {
		log.Warn(unknown.Error(), "hint", strings.Join(hintsFor(unknown), "; "))
	}
	for _, p := range found.Problems {
		log.Warn("a server cannot be used", "problem", p.Error())
	}
	for _, s := range found.Skipped {
		log.Info("a server was skipped", "server", s.Server, "reason", s.Reason)
	}
	b, err := newBridge(env, c, found.Servers, log, nil)
	if err != nil {
		return err
	}
	if isTerminal(env.Stdin) {
		ui.note("serve", "waiting for an MCP client; see: codemode help serve")
	}
	err = b.Serve(ctx, env.Stdin, unclosed{env.Stdout})
	if ctx.Err() != nil {
		err = nil // told to end, which is what it did
	}
	return errors.Join(err, b.Close())
}

// unclosed keeps the process's stdout open for whoever closes the stream over it.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
