package commands

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"codemode/internal/bridge"
	"codemode/internal/hint"
	"codemode/internal/visible"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"
)

func replCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "repl",
		Usage: "type Python into a session of the sandbox",
		Description: "Tab completes servers and tools, the arrows bring back lines, ?NAME explains.\n" +
			"An open bracket or a colon goes on until an empty line.\n" +
			"Ctrl-C drops what is typed; Ctrl-D or exit ends it.",
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{
				Name:  "server",
				Usage: "`NAME` of a server it may call; can be repeated; default is all",
				Local: true,
			},
			&cli.StringFlag{Name: "out", Usage: "`DIR` for images and what is left in /workspace/out", Local: true},
		}, append(
			inputFlags(),
			append(settingFlags("mount", "servers-file", "tenant", "runtime", "python", "memory"), configFlag())...,
		)...),
		Metadata: examples("codemode repl", "codemode repl --server memory"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			if !isTerminal(env.Stdin) || !isTerminal(env.Stdout) {
				return &usageError{"repl needs a terminal", []string{"for a program: codemode exec -"}}
			}
			return runREPL(ctx, env, ui, cmd, nil)
		},
	}
}

// repl is one session that a person types into.
type repl struct {
	env    Env
	ui     *ui
	bridge *bridge.Bridge
	show   *printer
	asks   *terminal // nil where nobody can be asked
	keys   *keys
	lines  *term.Terminal
	past   *history
	req    bridge.Request
}

// keys is what is typed. It knows Ctrl-C from the end of input, which are one to a term.Terminal.
type keys struct {
	io.Reader
	interrupted bool // the last that was read had Ctrl-C in it
}

func (k *keys) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p)
	k.interrupted = bytes.IndexByte(p[:n], 3) >= 0
	return n, err
}

// runREPL lets a person type, after a program where there is one, whose variables are there then.
func runREPL(ctx context.Context, env Env, ui *ui, cmd *cli.Command, p *program) error {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return err
	}
	if p != nil {
		t.inputs = p.inputs
		if err := t.provide(ctx, ui, cmd, p.with); err != nil {
			return err
		}
	} else if t.inputs, err = readInputs(env, cmd); err != nil {
		return err
	}
	ui.warnAll(t.ownProblems())
	t.unseen = ui.warnAll
	if err := t.askable(cmd.StringSlice("server")); err != nil {
		return err
	}
	shared := env // with what a program prints; lines that are typed are drawn by themselves
	s := ui.shareScreen(&shared)
	defer ui.legible()
	pictures, err := t.openImages(shared, ui, cmd)
	if err != nil {
		return err
	}
	defer pictures.close()
	b, err := t.execBridge(ui, execLog(env, t.config))
	if err != nil {
		return err
	}
	r := &repl{env: env, ui: ui, bridge: b, show: &printer{env: shared, ui: ui, images: pictures}}
	r.req = bridge.Request{
		Session: "repl", Client: "repl", Unasked: "there is no terminal to ask on", Display: r.show.image,
		Output: r.show.print, Calling: ui.calls(), Modules: t.inputs.modules,
	}
	saved, err := t.saveOut(ui, pictures, &r.req)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	defer saved.close()
	defer t.withdrawing(ctx, cmd, b)()
	r.req.Servers = append([]string(nil), cmd.StringSlice("server")...) // nil are all
	if r.asks = openTerminal(env, s); r.asks != nil {
		defer r.asks.close()
		r.asks.answers(&r.req)
	}
	r.keys, r.past = &keys{Reader: env.Stdin}, openHistory(t.historyFile())
	r.open()
	if p == nil {
		r.greet(names(t.given()))
	} else {
		r.req.Argv = p.argv
		req := r.req
		req.Code, req.Filename, req.Script, req.Timeout = p.code, p.filename, true, t.config.Exec.Timeout
		r.run(ctx, req)
	}
	err = r.loop(ctx)
	return errors.Join(err, b.Close())
}

// open makes a terminal to type into, with nothing typed.
func (r *repl) open() {
	r.lines = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{r.keys, r.env.Stdout}, ">>> ")
	r.lines.AutoCompleteCallback = r.complete
	r.lines.History = r.past
}

// greet says what this is, and whose tools can be called.
func (r *repl) greet(servers []string) {
	if r.req.Servers != nil {
		servers = r.req.Servers
	}
	with := "no servers"
	if n := len(servers); n > 0 {
		with = "servers: " + strings.Join(servers[:min(5, n)], ", ")
		if n > 5 {
			with += fmt.Sprintf(" and %d more", n-5)
		}
	}
	fmt.Fprintf(r.env.Stdout, "Python in a sandbox; %s; Tab completes, ?NAME explains, Ctrl-D ends\n", with)
}

// historyFile is where lines are kept for the next time; empty where they are not.
func (t *tenancy) historyFile() string {
	if !t.config.REPL.History {
		return ""
	}
	return join(t.paths.TenantState(t.config.Tenant), "history")
}

// loop reads and runs until the end of input, or until the code exits.
func (r *repl) loop(ctx context.Context) error {
	for {
		code, err := r.read(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case strings.TrimSpace(code) == "":
			continue
		}
		typed := strings.TrimSpace(code)
		if name, asked := strings.CutPrefix(typed, "?"); asked {
			code = "help(" + name + ")"
		} else if typed == "exit" || typed == "quit" {
			code = typed + "()"
		}
		req := r.req
		req.Code = code
		if out := r.run(ctx, req); out.Ended == bridge.EndExit {
			return exit(out.ExitCode)
		}
	}
}

// read reads the code to run: one line, or several where the first is incomplete. The terminal shows what is typed as
// it is only for so long, that Ctrl-C interrupts a run.
func (r *repl) read(ctx context.Context) (string, error) {
	ctx, stop := interruptible(ctx) // which would leave the terminal as it is
	defer stop()
	r.keys.Reader = untilDone{ctx, r.env.Stdin}
	fd := int(r.env.Stdin.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(fd, before) }()
	if width, height, err := term.GetSize(fd); err == nil && width > 0 { // some have none
		_ = r.lines.SetSize(width, height)
	}
	var lines []string
	r.lines.SetPrompt(">>> ")
	for {
		line, err := r.lines.ReadLine()
		if ctx.Err() != nil {
			fmt.Fprint(r.env.Stdout, "\r\n")
			return "", cmp.Or(interrupted(ctx), context.Cause(ctx))
		}
		if errors.Is(err, io.EOF) && r.keys.interrupted {
			fmt.Fprint(r.env.Stdout, "\r\nKeyboardInterrupt\r\n")
			r.open()
			return "", nil
		}
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return "", err
		}
		lines = append(lines, line)
		text := strings.Join(lines, "\n")
		if !goesOn(text) || len(lines) > 1 && line == "" {
			return text, nil
		}
		r.lines.SetPrompt("... ")
	}
}

// goesOn says whether a text cannot be all of a statement, or need not: a block ends with an empty line.
func goesOn(text string) bool {
	first, _, more := strings.Cut(text, "\n")
	return openBrackets(text) > 0 || more || strings.HasSuffix(strings.TrimSpace(first), ":") ||
		strings.HasPrefix(first, "@")
}

// openBrackets counts the brackets that are open, leaving out those in strings of one line and in comments.
func openBrackets(text string) (open int) {
	var quote rune
	comment := false
	for _, c := range text {
		switch {
		case c == '\n':
			quote, comment = 0, false
		case comment:
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '#':
			comment = true
		case c == '"' || c == '\'':
			quote = c
		case strings.ContainsRune("([{", c):
			open++
		case strings.ContainsRune(")]}", c):
			open--
		}
	}
	return open
}

func (r *repl) run(ctx context.Context, req bridge.Request) bridge.Outcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.show.cancel = cancel
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-interrupts:
			cancel(errors.New("interrupted"))
		case <-ctx.Done():
		}
	}()
	out := r.bridge.Run(ctx, req)
	cancel(nil)
	<-done
	r.ui.quit()
	for _, note := range out.Notes {
		r.ui.note("note", note)
	}
	switch {
	case out.Err != nil:
		r.ui.error(out.Err.Error(), hint.Of(out.Err)...)
	case out.Status != bridge.StatusSuccess && (req.Script || out.Ended == bridge.EndExit):
		r.ui.failure(out)
	case out.Status != bridge.StatusSuccess:
		r.ui.raw(strings.TrimRight(out.Error, "\n") + "\n")
	case out.Repr != "":
		r.show.print("stdout", []byte(visible.Text(out.Repr)+"\n"))
	}
	return out
}

// complete completes the name of a server, or of one of its tools. Where there are several and nothing to add, it
// lists them.
func (r *repl) complete(line string, pos int, key rune) (string, int, bool) {
	if key != '\t' {
		return "", 0, false
	}
	begin := strings.LastIndexFunc(line[:pos], func(c rune) bool {
		return !(c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}) + 1
	typed := line[begin:pos]
	if typed == "" {
		return "", 0, false
	}
	list := slices.DeleteFunc(r.names(), func(name string) bool { return !strings.HasPrefix(name, typed) })
	common := commonPrefix(list)
	if common == "" {
		return "", 0, false
	}
	if common == typed && len(list) > 1 {
		_, _ = fmt.Fprintln(r.lines, strings.Join(list, "\n"))
	}
	return line[:begin] + common + line[pos:], begin + len(common), true
}

// names are those of the servers that the session may call, and of their tools that are known.
func (r *repl) names() (list []string) {
	known, unlisted := r.bridge.Servers().Known()
	unseen := func(name string) bool { return r.req.Servers != nil && !slices.Contains(r.req.Servers, name) }
	for _, s := range known.Servers() {
		if unseen(s.Name) && unseen(s.Alias) {
			continue
		}
		list = append(list, "mcp_"+s.Alias)
		for _, t := range s.Tools {
			list = append(list, "mcp_"+s.Alias+"."+t.Alias+"(")
		}
	}
	for _, name := range slices.DeleteFunc(unlisted, unseen) {
		list = append(list, "mcp_"+name)
	}
	return append(list, "runtime.search_tool_docs(", "runtime.query_tool_docs(", "runtime.discovered_servers(")
}

// commonPrefix is what all names have in common; empty where there are none.
func commonPrefix(names []string) (common string) {
	for i, name := range names {
		if i == 0 {
			common = name
		}
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	return common
}
