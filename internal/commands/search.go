package commands

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"codemode/internal/bridge"
	"codemode/internal/catalog"
	"codemode/internal/hint"

	"github.com/urfave/cli/v3"
)

func searchCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "search",
		Usage:     "find tools by what they do",
		ArgsUsage: "QUERY...",
		Description: "It looks in what servers have said of their tools, and starts none of them;\n" +
			"--refresh asks them again. What it prints can be pasted into code.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "server", Usage: "`NAME` of the only server to look in", Local: true},
			&cli.IntFlag{Name: "limit", Value: 5, Usage: "`N` tools at most", Local: true},
			refreshFlag(),
			jsonFlag(),
		}, discoveryFlags()...),
		Metadata: examples(
			`codemode search open a pull request`,
			`codemode search --server github --limit 10 comment`,
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			query := strings.TrimSpace(strings.Join(cmd.Args().Slice(), " "))
			if query == "" {
				return &usageError{"search for what?", []string{"see: codemode search --help"}}
			}
			if n := cmd.Int("limit"); n < 1 || n > 100 {
				return &usageError{fmt.Sprintf("--limit is %d; it must be 1 to 100", n), nil}
			}
			return runSearch(ctx, env, ui, cmd, query)
		},
	}
}

func refreshFlag() cli.Flag {
	return &cli.BoolFlag{Name: "refresh", Usage: "ask the servers for their tools first", Local: true}
}

// hit is a tool in JSON.
type hit struct {
	Server      string `json:"server"`
	Tool        string `json:"tool"`
	Signature   string `json:"signature"`
	Call        string `json:"call"`
	Description string `json:"description,omitempty"`
	Policy      string `json:"policy,omitempty"` // why it is denied, or asked about
}

func runSearch(ctx context.Context, env Env, ui *ui, cmd *cli.Command, query string) error {
	only := cmd.String("server")
	l, err := openListing(ctx, env, ui, cmd, only)
	if err != nil {
		return err
	}
	defer l.close()
	search := l.bridge.Search
	if only != "" {
		s, err := l.server(ctx, only)
		if err != nil {
			return err
		}
		search = catalog.New([]catalog.Server{s}).Search
	}
	found := search(query, cmd.Int("limit"))
	out := newSheet(env)
	if cmd.Bool("json") {
		hits := make([]hit, 0, len(found))
		for _, m := range found {
			signature := m.Tool.Signature
			if m.Tool.Caller == "" {
				signature = "mcp_" + m.ServerAlias + "." + signature
			}
			hits = append(hits, hit{m.Server, m.Tool.Name, signature, m.Call(), m.Tool.Summary(), l.policy(m)})
		}
		err = out.json(hits)
	} else {
		err = out.hits(found, l.policy)
	}
	if only == "" {
		l.tellUnlisted()
	}
	if err == nil && len(found) == 0 {
		ui.note("note", "nothing was found for "+quote(query))
		ui.hints(l.elsewhere(only))
		return exit(exitFailed)
	}
	return err
}

// elsewhere is what to try where nothing was found, in one server or in all.
func (l *listing) elsewhere(only string) []string {
	if len(l.usable) == 0 {
		return []string{"no MCP server is configured: codemode servers add"}
	}
	const words = "try the words of a tool's description"
	if len(l.ready) == 0 {
		return []string{words, "see what servers lack: codemode servers"}
	}
	if only == "" {
		only = l.ready[0]
	}
	return []string{words + ", or see what a server has: codemode docs " + hint.Word(only)}
}

// policy is what the tenant's policy says of a tool that was found.
func (l *listing) policy(m catalog.Match) string {
	return l.bridge.Servers().Note(catalog.Server{Name: m.Server, Alias: m.ServerAlias}, m.Tool)
}

// hits prints what was found: for people two lines each, and one for what the policy says; elsewhere one.
func (p sheet) hits(found []catalog.Match, policy func(catalog.Match) string) error {
	if p.width == 0 {
		rows := make([][]cell, 0, len(found))
		for _, m := range found {
			rows = append(rows, cells(m.Server, m.Tool.Name, m.Call(), m.Tool.Summary(), policy(m)))
		}
		return p.table(nil, rows)
	}
	var b strings.Builder
	for i, m := range found {
		if i > 0 {
			b.WriteByte('\n')
		}
		call, optional, _ := strings.Cut(m.Call(), "  # ")
		b.WriteString(p.paint(oneLine(call), bold))
		if optional != "" {
			b.WriteString("  # " + oneLine(optional))
		}
		fmt.Fprintf(&b, "\n    %s\n", p.wrap(4, m.Tool.Summary(), ""))
		if note := policy(m); note != "" {
			fmt.Fprintf(&b, "    %s\n", p.wrap(4, note, yellow))
		}
	}
	_, err := fmt.Fprint(p.out, b.String())
	return err
}

// listing is what is known of the tenant's tools.
type listing struct {
	*tenancy
	ui       *ui
	bridge   *bridge.Bridge
	known    *catalog.Catalog
	unlisted []string
	failed   map[string]error // of those that were asked
}

// openListing takes up what is known of the servers' tools, and asks them first where the user wants that: all, or the
// one that is named as in a call. The caller calls close.
func openListing(ctx context.Context, env Env, ui *ui, cmd *cli.Command, only string) (*listing, error) {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return nil, err
	}
	ui.warnAll(t.ownProblems())
	opts := t.bridgeOptions(slog.New(slog.DiscardHandler))
	opts.Progress = ui.waiting
	l := &listing{tenancy: t, ui: ui, bridge: bridge.New(opts), failed: map[string]error{}}
	if cmd.Bool("refresh") {
		if _, err := l.refresh(ctx, l.meant(only)); err != nil {
			l.close()
			return nil, err
		}
	}
	l.known, l.unlisted = l.bridge.Servers().Known()
	return l, nil
}

// meant are the servers that a name is of, or the beginning of one with a tool in it; all where there is none.
func (l *listing) meant(name string) []string {
	if name == "" {
		return l.ready
	}
	for rest := name; rest != ""; {
		for _, s := range l.ready {
			if alias := l.aliases[s]; rest == s || rest == alias || rest == "mcp_"+alias {
				return []string{s}
			}
		}
		rest = rest[:max(0, strings.LastIndexByte(rest, '.'))]
	}
	return nil
}

func (l *listing) close() {
	if err := l.bridge.Close(); err != nil {
		l.ui.warn(err.Error())
	}
}

// refresh asks servers for their tools, and tells of those that fail. It returns how many did; with an error it was
// interrupted.
func (l *listing) refresh(ctx context.Context, servers []string) (failed int, err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	l.bridge.Servers().List(ctx, servers, func(name string, _ int, err error) {
		if err != nil && ctx.Err() == nil {
			failed++
			l.failed[name] = err
			l.ui.warn(err.Error(), hint.Of(err)...)
		}
	})
	return failed, interrupted(ctx)
}

// tellUnlisted says whose tools were not looked at.
func (l *listing) tellUnlisted() {
	unlisted := slices.DeleteFunc(slices.Clone(l.unlisted), func(name string) bool {
		return !slices.Contains(l.ready, name) || l.failed[name] != nil // which has been told
	})
	if len(unlisted) == 0 {
		return
	}
	some := strings.Join(unlisted[:min(5, len(unlisted))], ", ")
	if n := len(unlisted); n > 5 {
		some += fmt.Sprintf(" and %d more", n-5)
	}
	l.ui.note("note", "not searched, since it is not known what tools they have: "+some)
	l.ui.hints([]string{"codemode servers refresh"})
}

// server is one server with its tools, by its name or its alias. It is asked where its tools are not known yet.
func (l *listing) server(ctx context.Context, name string) (catalog.Server, error) {
	if alias, ok := strings.CutPrefix(name, "mcp_"); ok &&
		slices.Contains(slices.Collect(maps.Values(l.aliases)), alias) {
		name = alias // as code calls it
	}
	if s, ok := l.knows(name); ok {
		return s, nil
	}
	for _, s := range l.given() {
		if s.Name == name || l.aliases[s.Name] == name {
			return l.ask(ctx, s.Name)
		}
	}
	entries, err := l.named(name)
	if err != nil {
		return catalog.Server{}, err
	}
	return catalog.Server{}, &unusableError{entries[0]}
}

func (l *listing) knows(name string) (catalog.Server, bool) {
	for _, s := range l.known.Servers() {
		if s.Name == name || s.Alias == name {
			return s, true
		}
	}
	return catalog.Server{}, false
}

// ask asks a server for its tools. One that has just failed is not asked again.
func (l *listing) ask(ctx context.Context, name string) (catalog.Server, error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	if l.failed[name] != nil { // which has been told
		return catalog.Server{}, exit(exitFailed)
	}
	var err error
	l.bridge.Servers().List(ctx, []string{name}, func(_ string, _ int, failed error) { err = failed })
	if stopped := interrupted(ctx); stopped != nil {
		return catalog.Server{}, stopped
	}
	l.known, l.unlisted = l.bridge.Servers().Known()
	s, _ := l.knows(name)
	return s, err
}
