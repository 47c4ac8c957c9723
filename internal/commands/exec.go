package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"

	"codemode/internal/bridge"
	"codemode/internal/config"
	"codemode/internal/fileerr"
	"codemode/internal/lazyregexp"
	"codemode/internal/telemetry"

	"github.com/urfave/cli/v3"
)

func execCommand(env Env, ui *ui) *cli.Command {
	one := 1
	return &cli.Command{
		Name:        "exec",
		Usage:       "run a Python program in the sandbox",
		ArgsUsage:   "SCRIPT|-|-c CODE|-m MODULE [ARG...]",
		Description: "Flags stand before the script. Codes of its own: 124 deadline, 125 not run.",
		Flags: append(append([]cli.Flag{
			&cli.StringFlag{Name: "c", Usage: "`CODE` to run instead of a script; - as script is stdin", Local: true},
			&cli.StringFlag{
				Name:  "m",
				Usage: "`MODULE` of Python's to run as a script, such as json.tool",
				Local: true,
			},
			&cli.StringSliceFlag{
				Name:  "server",
				Usage: "`NAME` of a server it may call; can be repeated; default is all",
				Local: true,
			},
			&cli.StringFlag{Name: "out", Usage: "`DIR` for images and what is left in /workspace/out", Local: true},
			&cli.StringSliceFlag{
				Name: "with", Usage: "`PACKAGE` it imports, as in the script's head; can be repeated", Local: true,
			},
			&cli.BoolFlag{Name: "with-dir", Usage: "let it import the modules beside it, as python3 does", Local: true},
			&cli.BoolFlag{Name: "i", Usage: "let its user type more when it has ended, as repl does", Local: true},
			&cli.BoolFlag{Name: "json", Usage: "print the outcome as JSON when the program has ended", Local: true},
		}, append(
			inputFlags(),
			settingFlags("mount", "timeout", "servers-file", "tenant", "runtime", "python", "memory", "pull")...,
		)...), configFlag()),
		Metadata:     examples(`codemode exec --server memory -c 'print(await mcp_memory.read_graph())'`),
		StopOnNthArg: &one,
		Action: func(ctx context.Context, cmd *cli.Command) error {
			p, err := readProgram(env, cmd)
			if err != nil {
				return err
			}
			defer p.close()
			if p.inputs, err = readInputs(env, cmd); err != nil {
				return err
			}
			if cmd.Bool("with-dir") {
				p.inputs.addModules(env, p.script)
			}
			if p.with, err = readNeeds(cmd, p.code); err != nil {
				return err
			}
			if cmd.Bool("i") {
				return runInteractive(ctx, env, ui, cmd, p)
			}
			return runExec(ctx, env, ui, cmd, p)
		},
	}
}

// runInteractive is exec -i: a program, and then a repl in its session.
func runInteractive(ctx context.Context, env Env, ui *ui, cmd *cli.Command, p *program) error {
	switch {
	case cmd.Bool("json"):
		return &usageError{"-i and --json do not go together", []string{"see: codemode exec --help"}}
	case !isTerminal(env.Stdin) || !isTerminal(env.Stdout) || p.owned:
		return &usageError{"-i needs a terminal, and a program that does not come from it", []string{
			"without it the program runs and ends",
		}}
	}
	return runREPL(ctx, env, ui, cmd, p)
}

// openExec opens the tenancy that a program runs in, with what it is given and the packages that it needs, and returns
// the servers that it may call; none are all.
func openExec(ctx context.Context, env Env, ui *ui, cmd *cli.Command, p *program) (*tenancy, []string, error) {
	t, err := openLate(env, cmd)
	if err != nil {
		return nil, nil, err
	}
	t.inputs = p.inputs
	servers := cmd.StringSlice("server")
	if p.servers != nil {
		cmd, servers = &cli.Command{}, p.servers
	}
	if err := t.provide(ctx, ui, cmd, p.with); err != nil {
		return nil, nil, err
	}
	ui.warnAll(t.ownProblems())
	t.unseen = ui.warnAll
	if err := t.askable(servers); err != nil && !cmd.Bool("json") { // there, the outcome says it
		return nil, nil, err
	}
	return t, servers, nil
}

// runExec runs a program and ends as it does. Errors before that are codemode's own: 125.
func runExec(ctx context.Context, env Env, ui *ui, cmd *cli.Command, p *program) error {
	t, servers, err := openExec(ctx, env, ui, cmd, p)
	if err != nil {
		return &exitError{exitNotRun, err}
	}
	if p.servers != nil {
		cmd = &cli.Command{}
	}
	s := ui.shareScreen(&env)
	defer ui.legible()
	pictures, err := t.openImages(env, ui, cmd)
	if err != nil {
		return &exitError{exitNotRun, err}
	}
	defer pictures.close()
	t.telemetry = newTelemetry(env, func(text string) { ui.warn(text) })
	defer t.telemetry.Close()
	b, err := t.execBridge(ui, execLog(env, t.config))
	if err != nil {
		return &exitError{exitNotRun, err}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer ignoreBrokenPipe()()
	ending := newInterruption(ui, b, t.config.Run.Grace)
	defer ending.watch(cancel)()

	show := &printer{env: env, ui: ui, images: pictures, cancel: cancel, writes: ending.writes}
	req := execRequest(env, ui, t, p, show)
	if cmd.Bool("json") { // which is all that is printed
		req.Output = nil
	}
	if terminal := openTerminal(env, s); terminal != nil {
		defer terminal.close()
		req.StdinLock = terminal
		terminal.answers(&req)
	}
	req.Servers = append([]string(nil), servers...) // nil are all
	saved, err := t.saveOut(ui, pictures, &req)
	if err != nil {
		return &exitError{exitNotRun, err}
	}
	defer saved.close()
	defer t.withdrawing(ctx, cmd, b)()
	out := b.Run(ctx, req)
	ending.stopped()
	p.amend(env, &out)
	if cmd.Bool("json") {
		show.outcome(out)
	}
	err = finish(ui, cmd, out, context.Cause(ctx))
	if err == nil && saved.lost {
		err = exit(exitFailed) // what was lost has been told
	}
	if closing := b.Close(); closing != nil {
		ui.warn(closing.Error())
	}
	return err
}

// outcome prints an outcome as JSON, with the exit code of exec.
func (p *printer) outcome(out bridge.Outcome) {
	if out.Err != nil {
		out.ExitCode = exitNotRun // whatever kept it from running, this is how exec ends
	}
	p.print("stdout", append(out.JSON(), '\n'))
}

// execRequest is what a program asks of its bridge, but for what depends on the terminal.
func execRequest(env Env, ui *ui, t *tenancy, p *program, show *printer) bridge.Request {
	return bridge.Request{
		Code: p.code, Filename: p.filename, Argv: p.argv, Script: true, Stdin: p.stdin,
		Timeout: t.config.Exec.Timeout, Session: "exec", Output: show.print, Display: show.image,
		Client:  "exec",
		Modules: p.inputs.modules,
		Parent:  telemetry.Parent{Traceparent: env.get("TRACEPARENT"), Tracestate: env.get("TRACESTATE")},
		Unasked: "there is no terminal to ask on",
		Calling: ui.calls(),
	}
}

// execLog keeps quiet unless the user is looking for something: what matters to a program's user is said
// in the outcome.
func execLog(env Env, c config.Config) *slog.Logger {
	if c.Log.Level != "debug" {
		return slog.New(slog.DiscardHandler)
	}
	return newLog(env, c)
}

// finish says what there is to say about an outcome, and ends as the program did.
func finish(ui *ui, cmd *cli.Command, out bridge.Outcome, cause error) error {
	ui.quit()
	for _, note := range out.Notes {
		if slices.Contains(out.Done, note) {
			ui.note("note", note)
		} else {
			ui.warn(note)
		}
	}
	if !cmd.Bool("json") {
		defer ui.effects(out.Effects)
	}
	var sig *signalled
	var unwritten *writeError
	switch {
	case out.Err != nil:
		return &exitError{exitNotRun, out.Err}
	case errors.As(cause, &sig):
		return exit(exitSignal + int(sig.number))
	case errors.Is(cause, errNoReader):
		return exit(exitSignal + int(syscall.SIGPIPE))
	case errors.As(cause, &unwritten):
		return unwritten
	case out.Status == bridge.StatusTimeout:
		return &exitError{exitDeadline, fmt.Errorf("stopped at the deadline of %v", out.Timeout)}
	case out.Status == bridge.StatusError && !cmd.Bool("json"):
		ui.failure(out)
	}
	return exit(out.ExitCode)
}

// failure shows what ended a program as python3 would: a traceback, sys.exit's message, nothing for a
// mere exit code. What Python could not have said itself is codemode's to say.
func (u *ui) failure(out bridge.Outcome) {
	switch {
	case out.Ended == bridge.EndSelf || out.Error == "":
	case out.Ended == bridge.EndException:
		u.raw(traceback(out.Error) + "\n")
	case out.Ended == bridge.EndExit:
		u.raw(out.Error + "\n")
	default:
		u.error(out.Error)
	}
}

var syntaxError = lazyregexp.New(`\n(Syntax|Indentation|Tab)Error: .*$`)

// chained are the lines between an exception and the one that followed from it.
var chained = lazyregexp.New(`(?m)^(?:During handling of the above exception, another exception occurred|` +
	`The above exception was the direct cause of the following exception):\n\n`)

// traceback puts the line before each traceback that python3 has there and results for models go without.
// There is none where the program's own syntax is wrong: what is shown then is a place, not a call.
func traceback(text string) string {
	const header = "Traceback (most recent call last):\n"
	ownSyntax := syntaxError().MatchString(text) && strings.Count(text, "  File \"") == 1
	if ownSyntax || strings.HasPrefix(text, header) {
		return text
	}
	return header + chained().ReplaceAllString(text, "${0}"+header)
}

// printer is where a program's output goes while it runs.
type printer struct {
	env    Env
	ui     *ui
	images *images
	cancel context.CancelCauseFunc
	writes *writes

	mu sync.Mutex
}

// errNoReader cancels a run whose output nobody reads any more.
var errNoReader = errors.New("nobody reads the output")

// writeError cancels a run whose output cannot be written.
type writeError struct {
	stream string
	err    error
}

func (e *writeError) Error() string { return fmt.Sprintf("writing standard %s: %v", e.stream, e.err) }

// unwritable is why a run is cancelled when its output cannot be written.
func unwritable(stream string, err error) error {
	for _, broken := range brokenPipe {
		if errors.Is(err, broken) {
			return errNoReader
		}
	}
	return &writeError{stream, fileerr.Cause(err)}
}

// print passes on what the program printed, byte for byte.
func (p *printer) print(stream string, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.writes.begin()()
	p.ui.aside(data)
	to, name := p.env.Stdout, "output"
	if stream == "stderr" {
		to, name = p.env.Stderr, "error"
	}
	if _, err := to.Write(data); err != nil {
		p.cancel(unwritable(name, err))
	}
}

// image shows or saves an image, and says where it is.
func (p *printer) image(mime string, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, err := p.images.show(mime, data)
	switch {
	case err != nil:
		p.ui.warn(err.Error())
	case name != "":
		p.ui.note("image", name)
	}
}

// openImages is where images are shown or saved that code displays.
func (t *tenancy) openImages(env Env, ui *ui, cmd *cli.Command) (*images, error) {
	if cmd.IsSet("out") && cmd.String("out") == "" {
		return nil, &usageError{"--out names no folder", []string{"see: codemode exec --help"}}
	}
	dir, err := t.saveTo(cmd.String("out"))
	if err != nil {
		return nil, err
	}
	room := imageRoom{t.imagesDir(), t.disk(slog.New(warner{ui})), t.config.Disk.MaxSize}
	return newImages(env, cmd.String("out"), dir, room)
}
