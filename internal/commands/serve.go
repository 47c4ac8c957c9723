package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"codemode/internal/bridge"
	"codemode/internal/config"
	"codemode/internal/fileerr"
	"codemode/internal/hint"
	"codemode/internal/mcpserver"
	"codemode/internal/telemetry"
	"codemode/internal/upstream"

	"github.com/urfave/cli/v3"
)

func serveCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "serve MCP on stdin and stdout: the one tool run_python",
		Description: "An AI client starts this. Nothing else is started before code needs it; logs\n" +
			"go to stderr. It ends when the client goes away.",
		Flags: append(
			settingFlags("mount", "servers-file", "tenant", "runtime", "python", "memory", "pull"),
			configFlag(),
			&cli.StringFlag{
				Name:  "log-file",
				Usage: "`FILE` that the log is added to, as well as stderr",
				Local: true,
			},
		),
		Metadata: examples(
			`claude mcp add codemode -- codemode serve`,
			`{"mcpServers": {"codemode": {"command": "codemode", "args": ["serve"]}}}`,
			`CODEMODE_LOG_LEVEL=debug codemode serve --servers-file team.json`,
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return &usageError{
					"serve takes no arguments, but there is " + quote(cmd.Args().First()),
					[]string{"see: codemode serve --help"},
				}
			}
			if !isTerminal(env.Stderr) { // it is a client's, which may not read it
				log, before := newLogWriter(env.Stderr), ui.out
				defer func() { log.Close(); ui.out = before }()
				env.Stderr, ui.out = log, log
			}
			if name := cmd.String("log-file"); name != "" {
				f, err := openLogFile(env, name)
				if err != nil {
					return err
				}
				defer f.Close()
				env.Stderr = io.MultiWriter(env.Stderr, f)
				ui.out = env.Stderr
			}
			return runServe(ctx, env, ui, cmd)
		},
	}
}

// openLogFile opens a log to add to it. It is the user's alone: what servers say may be in it.
func openLogFile(env Env, name string) (*os.File, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Dir, path)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log %q: %w; codemode serve is not started", name, fileerr.Cause(err))
	}
	return f, nil
}

func runServe(ctx context.Context, env Env, ui *ui, cmd *cli.Command) error {
	collectAsUsual(env)
	ctx, stop := interruptible(ctx)
	defer stop()
	defer ignoreBrokenPipe()()
	t, known, err := openServing(env, cmd)
	var usage *usageError
	if errors.As(err, &usage) || err != nil && isTerminal(env.Stdin) {
		return err
	}
	if err != nil {
		return serveUnready(ctx, env, ui, cmd, err)
	}
	if err := t.refusedMount(); err != nil {
		return err
	}
	log := newLog(env, t.config)
	if err := loop(t.config, upstream.Depth(env.Lookup)); err != nil {
		ui.warn(err.Error(), hint.Of(err)...)
		if err = mcpserver.Refuse(
			ctx, env.Stdin, unclosed{env.Stdout}, readVersion().Version, err, log,
		); ctx.Err() != nil {
			err = nil
		}
		return err
	}
	if isTerminal(env.Stdin) {
		ui.note("serve", "waiting for an MCP client; see: codemode help serve")
	}
	s, err := startServing(ctx, ui, cmd, t, known, log)
	if err != nil {
		return err
	}
	err = s.server.Serve(ctx, env.Stdin, unclosed{env.Stdout})
	if ctx.Err() != nil {
		err = nil // told to end, which is what it did
	}
	return errors.Join(err, s.close())
}

// openServing is openTenancy. Where the names of the servers are known as well without them, it does not look for
// them.
func openServing(env Env, cmd *cli.Command) (t *tenancy, known *mcpserver.Names, err error) {
	if t, err = openSettings(env, cmd); err != nil {
		return nil, nil, err
	}
	if known = t.recall(); known == nil {
		err = t.findServers()
	}
	return t, known, err
}

// serving is a bridge whose servers are brought up to date.
type serving struct {
	bridge    func() *bridge.Bridge
	server    *mcpserver.Server
	reloading sync.WaitGroup
	stop      context.CancelFunc
	telemetry *telemetry.Telemetry
}

// startServing serves a tenant: at once, but for the servers whose names are known.
func startServing(
	ctx context.Context, ui *ui, cmd *cli.Command, t *tenancy, known *mcpserver.Names, log *slog.Logger,
) (*serving, error) {
	t.telemetry = newTelemetry(t.env, func(text string) { log.Warn(text) })
	t.unseen = func(list []error) {
		for _, err := range list {
			log.Warn(err.Error())
		}
	}
	makeBridge, err := t.serveBridge(ui, log)
	if err != nil {
		t.telemetry.Close()
		return nil, err
	}
	s := &serving{telemetry: t.telemetry}
	ctx, s.stop = context.WithCancel(ctx)
	s.bridge = sync.OnceValue(func() *bridge.Bridge {
		if known != nil {
			t.discover()
		}
		b := makeBridge()
		r := newReloader(t, cmd, b, log)
		t.adder.reload = r.reload
		s.reloading.Go(func() {
			t.remember(b.Servers().Configured(), known)
			r.run(ctx)
		})
		return b
	})
	if known == nil {
		s.server = mcpserver.New(s.bridge(), t.mcpOptions(ui, log))
	} else {
		s.server = mcpserver.NewLate(s.bridge, *known, t.mcpOptions(ui, log))
	}
	return s, nil
}

func (s *serving) close() error {
	b := s.bridge()
	s.stop()
	s.reloading.Wait()
	err := b.Close()
	s.telemetry.Close()
	return err
}

// mendEvery is how often serve looks whether settings that it cannot use have been mended.
const mendEvery = time.Second

// serveUnready serves what is wrong with the settings, until they can be used.
func serveUnready(ctx context.Context, env Env, ui *ui, cmd *cli.Command, why error) error {
	for _, err := range separate(why) {
		ui.error(err.Error(), hint.Of(err)...)
	}
	defaults, _ := config.Load(config.Source{}) // of nothing, which has no mistakes
	log := newLog(env, defaults)
	var mu sync.Mutex
	usable := false
	u := mcpserver.Unready{
		Version: readVersion().Version, Log: log,
		Why: func() error { mu.Lock(); defer mu.Unlock(); return errors.Join(separate(why)...) },
	}
	u.Mend = func(ctx context.Context) (*mcpserver.Server, func()) {
		for {
			select {
			case <-time.After(mendEvery):
			case <-ctx.Done():
				return nil, nil
			}
			s, err := mended(ctx, env, ui, cmd)
			mu.Lock()
			if usable = err == nil; !usable {
				why = err
			}
			mu.Unlock()
			if err == nil {
				log.Info("the settings can be used now")
				return s.server, func() {
					if err := s.close(); err != nil {
						log.Warn(err.Error())
					}
				}
			}
		}
	}
	err := u.Serve(ctx, env.Stdin, unclosed{env.Stdout})
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil && !usable: // nobody has mended it, and it has been told
		return exit(exitCode(why))
	}
	return err
}

// mended is serve as it would be if it started now.
func mended(ctx context.Context, env Env, ui *ui, cmd *cli.Command) (*serving, error) {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return nil, err
	}
	if err := loop(t.config, upstream.Depth(env.Lookup)); err != nil {
		return nil, err
	}
	return startServing(ctx, ui, cmd, t, nil, newLog(env, t.config))
}

// loopError is a codemode serve that codemode has started, which would start every server again.
type loopError struct{ depth int }

func (e *loopError) Error() string {
	return fmt.Sprintf(
		"codemode serve is not started: codemode itself has started it as one of its servers (%d above it), and would again",
		e.depth,
	)
}

// Hint is how to end that, or to allow it.
func (e *loopError) Hint() []string {
	return []string{
		"remove that server; codemode servers lists them. If it is meant: mcp.allow_self = true in config.toml",
	}
}

// loop says whether serve is its own server. Who allows that may go some levels deep.
func loop(c config.Config, depth int) error {
	if depth == 0 || c.Servers.AllowSelf && depth <= upstream.MaxDepth {
		return nil
	}
	return &loopError{depth}
}

// unclosed keeps the process's stdout open when the stream over it is closed.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
