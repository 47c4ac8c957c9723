package commands

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"

	"codemode/internal/bridge"
	"codemode/internal/hint"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"
)

func replCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "repl",
		Usage: "type Python into a session of the sandbox",
		Description: "Tab completes servers and tools, the arrows bring back lines, ?NAME explains.\n" +
			"An open bracket or a colon goes on until an empty line. Ctrl-D ends it.",
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{
				Name:  "server",
				Usage: "`NAME` of a server it may call; can be repeated; default is all",
				Local: true,
			},
			&cli.StringFlag{Name: "out", Usage: "`DIR` for images, else one that is named on stderr", Local: true},
		}, append(settingFlags("servers-file", "tenant", "runtime", "python", "memory"), configFlag())...),
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
	lines  *term.Terminal
	req    bridge.Request
}

// runREPL lets a person type, after a program where there is one, whose variables are there then.
func runREPL(ctx context.Context, env Env, ui *ui, cmd *cli.Command, p *program) error {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return err
	}
	for _, problem := range t.ownProblems() {
		ui.warn(problem.Error(), hint.Of(problem)...)
	}
	if err := t.askable(cmd.StringSlice("server")); err != nil {
		return err
	}
	pictures, err := newImages(
		env, cmd.String("out"), imageRoom{t.imagesDir(), t.disk(slog.New(warner{ui})), t.config.Disk.MaxSize},
	)
	if err != nil {
		return err
	}
	s := newScreen(env.Stdout, env.Stderr)
	b, err := t.execBridge(ui, execLog(env, t.config))
	if err != nil {
		return err
	}
	r := &repl{env: env, ui: ui, bridge: b, show: &printer{env: env, ui: ui, images: pictures}}
	r.req = bridge.Request{
		Session: "repl", Client: "repl", Unasked: "there is no terminal to ask on", Display: r.show.image,
		Output: r.show.print,
	}
	if servers := cmd.StringSlice("server"); len(servers) > 0 {
		r.req.Servers = servers
	}
	if r.asks = openTerminal(env, s); r.asks != nil {
		defer r.asks.close()
		r.req.Ask = r.asks.ask
	}
	r.lines = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{env.Stdin, env.Stdout}, ">>> ")
	r.lines.AutoCompleteCallback = r.complete
	r.lines.History = openHistory(t.historyFile())
	if p != nil {
		r.req.Argv = p.argv
		req := r.req
		req.Code, req.Filename, req.Script, req.Timeout = p.code, p.filename, true, t.config.Exec.Timeout
		r.run(ctx, req)
	}
	err = r.loop(ctx)
	return errors.Join(err, b.Close())
}

// historyFile is where lines are kept for the next time; empty where they are not.
func (t *tenancy) historyFile() string {
	if !t.config.REPL.History {
		return ""
	}
	return join(t.paths.TenantState(t.config.Tenant), "history")
}

// loop reads and runs until the end of input.
func (r *repl) loop(ctx context.Context) error {
	for {
		code, err := r.read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case strings.TrimSpace(code) == "":
			continue
		}
		if name, asked := strings.CutPrefix(strings.TrimSpace(code), "?"); asked {
			code = "help(" + name + ")"
		}
		req := r.req
		req.Code = code
		r.run(ctx, req)
	}
}

// read reads what is to be run: one line, or several where the first cannot be all. The terminal shows what is typed as
// it is only for so long, that Ctrl-C interrupts a run.
func (r *repl) read() (string, error) {
	fd := int(r.env.Stdin.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(fd, before) }()
	if width, height, err := term.GetSize(fd); err == nil {
		_ = r.lines.SetSize(width, height)
	}
	var lines []string
	r.lines.SetPrompt(">>> ")
	for {
		line, err := r.lines.ReadLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return "", err
		}
		lines = append(lines, line)
		text := strings.Join(lines, "\n")
		if !goesOn(text) || len(lines) > 1 && line == "" && openBrackets(text) <= 0 {
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

func (r *repl) run(ctx context.Context, req bridge.Request) {
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
	case out.Status != bridge.StatusSuccess && req.Script:
		r.ui.failure(out)
	case out.Status != bridge.StatusSuccess:
		r.ui.raw(strings.TrimRight(out.Error, "\n") + "\n")
	case out.Repr != "":
		r.show.print("stdout", []byte(bridge.Visible(out.Repr)+"\n"))
	}
}

// complete completes the name of a server, or of one of its tools.
func (r *repl) complete(line string, pos int, key rune) (string, int, bool) {
	if key != '\t' {
		return "", 0, false
	}
	begin := strings.LastIndexFunc(line[:pos], func(c rune) bool {
		return !(c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}) + 1
	common := commonPrefix(r.names(), line[begin:pos])
	if common == "" {
		return "", 0, false
	}
	return line[:begin] + common + line[pos:], begin + len(common), true
}

// names are those of servers, and of the tools that are known.
func (r *repl) names() (list []string) {
	known, unlisted := r.bridge.Known()
	for _, s := range known.Servers() {
		list = append(list, "mcp_"+s.Alias)
		for _, t := range s.Tools {
			list = append(list, "mcp_"+s.Alias+"."+t.Alias+"(")
		}
	}
	for _, name := range unlisted {
		list = append(list, "mcp_"+name)
	}
	return append(list, "runtime.search_tool_docs(", "runtime.query_tool_docs(", "runtime.discovered_servers(")
}

// commonPrefix is what all names have in common that begin so; empty where there is none.
func commonPrefix(names []string, begin string) (common string) {
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begin) })
	if begin == "" || len(names) == 0 {
		return ""
	}
	common = names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	return common
}
