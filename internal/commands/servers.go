package commands

import (
	"context"
	"fmt"
	"time"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/hint"

	"github.com/urfave/cli/v3"
)

func serversCommand(env Env, ui *ui) *cli.Command {
	list := func(ctx context.Context, cmd *cli.Command) error {
		l, err := openListing(ctx, env, ui, cmd, "")
		if err != nil {
			return err
		}
		defer l.close()
		return l.print(cmd.Bool("all"), cmd.Bool("json"))
	}
	return &cli.Command{
		Name:            "servers",
		Usage:           "list the MCP servers you have, and where from",
		Description:     "Nothing is started by looking. What comes with a project must be approved.",
		Flags:           listFlags(),
		HideHelpCommand: true,
		Commands: []*cli.Command{
			{
				Name:     "list",
				Usage:    "the same as servers alone",
				Flags:    listFlags(),
				Metadata: examples("codemode servers list --all"),
				Action: func(ctx context.Context, cmd *cli.Command) error {
					if err := noArguments(cmd); err != nil {
						return err
					}
					return list(ctx, cmd)
				},
			},
			showServerCommand(env),
			approveCommand(env, ui),
			revokeCommand(env, ui),
			findServersCommand(env, ui),
			addServerCommand(env, ui),
			editServerCommand(env, ui),
			renameServerCommand(env, ui),
			switchCommand(env, ui, "disable", "switch servers of your own off, and keep them", false),
			switchCommand(env, ui, "enable", "switch them on again", true),
			removeServerCommand(env, ui),
			refreshCommand(env, ui),
		},
		Metadata: examples(`codemode servers approve build-tools     # of this project`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return unknownSubcommand(cmd, cmd.Args().First())
			}
			return list(ctx, cmd)
		},
	}
}

func listFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.BoolFlag{Name: "all", Usage: "also duplicates, hidden entries, and codemode itself", Local: true},
		&cli.BoolFlag{Name: "all-projects", Usage: "also what Claude Code has for other projects", Local: true},
		jsonFlag(),
	}, discoveryFlags()...)
}

// discoveryFlags are those of every command that looks at servers.
func discoveryFlags() []cli.Flag {
	return append(settingFlags("servers-file", "tenant"), configFlag())
}

// serverRow is a server in JSON.
type serverRow struct {
	Name       string               `json:"name"`
	Alias      string               `json:"alias,omitempty"` // mcp_ALIAS in Python, of those code can use
	Transport  string               `json:"transport"`
	Source     string               `json:"source"`
	Scope      clientcfg.Scope      `json:"scope"`
	File       string               `json:"file,omitempty"`
	Line       int                  `json:"line,omitempty"`
	Project    string               `json:"project,omitempty"`
	Status     clientcfg.Status     `json:"status"`
	Reason     string               `json:"reason,omitempty"`
	Of         string               `json:"of,omitempty"`
	AlsoIn     []string             `json:"also_in,omitempty"`
	Aggregator string               `json:"aggregator,omitempty"`
	Sandbox    *config.Restrictions `json:"sandbox,omitempty"`
	Notes      []string             `json:"notes,omitempty"`
	Tools      *int                 `json:"tools,omitempty"`  // of the cached list
	Listed     string               `json:"listed,omitempty"` // when, RFC 3339
}

// rows are the servers to show, and how many are hidden because others stand for them.
func (l *listing) rows(all bool) (rows []serverRow, hidden int) {
	rows = []serverRow{}
	for _, e := range l.found.Entries {
		switch e.Status {
		case clientcfg.Duplicate, clientcfg.Shadowed, clientcfg.SelfReference:
			if !all {
				hidden++
				continue
			}
		}
		rows = append(rows, l.row(e))
	}
	return rows, hidden
}

func (r serverRow) cells() []cell {
	return []cell{
		{r.Name, ""},
		{r.Transport, ""},
		{r.place(), ""},
		{string(r.Status), statusColour(r.Status)},
		{r.tools(), ""},
		{r.remark(), ""},
	}
}

func (l *listing) print(all, asJSON bool) error {
	rows, hidden := l.rows(all)
	out := newSheet(l.env)
	if asJSON {
		return out.json(rows)
	}
	for _, p := range l.found.Problems {
		if !p.Own() { // those have been told
			l.ui.warn(p.Error())
		}
	}
	if len(rows) == 0 {
		l.ui.note("note", "no MCP server is configured")
		l.tellHidden(hidden)
		if l.paths.Config == "" {
			l.ui.hints([]string{"neither HOME nor XDG_CONFIG_HOME names a folder to look in"})
		}
		l.ui.hints([]string{"codemode servers add NAME -- COMMAND [ARG...]"})
		return nil
	}
	table := make([][]cell, 0, len(rows))
	for _, r := range rows {
		table = append(table, r.cells())
	}
	if err := out.table([]string{"NAME", "TRANSPORT", "SOURCE", "STATUS", "TOOLS", ""}, table); err != nil {
		return err
	}
	for _, p := range l.found.Plugins {
		if all {
			l.ui.note(
				"note",
				fmt.Sprintf(
					"%s has servers in %s, which it alone can start: %s", p.Client,
					plural(len(p.Files), "plugin", "plugins"), quote(p.Files[0]),
				),
			)
		}
	}
	l.tellHidden(hidden)
	if names := waiting(rows); len(names) > 0 {
		l.ui.note(
			"note", fmt.Sprintf("%s of this project and not approved", plural(len(names), "server is", "servers are")),
		)
		l.ui.hints(
			[]string{"codemode servers show " + hint.Word(names[0]), "codemode servers approve " + hint.Word(names[0])},
		)
	}
	return nil
}

func (l *listing) tellHidden(n int) {
	if n > 0 {
		l.ui.note(
			"note",
			plural(n, "entry is", "entries are")+
				" not shown: the same as another, hidden by one, or codemode itself; --all shows them",
		)
	}
}

func waiting(rows []serverRow) (names []string) {
	for _, r := range rows {
		if r.Status == clientcfg.NeedsApproval {
			names = append(names, r.Name)
		}
	}
	return names
}

func (l *listing) row(e clientcfg.Entry) serverRow {
	e = l.chosen(e)
	r := serverRow{
		Name: e.Server.Name, Transport: transport(e.Server), Source: e.Client, Scope: e.Scope,
		File: e.Server.Source, Line: e.Line, Project: e.Server.Project,
		Status: e.Status, Reason: e.Reason, Of: e.Of, AlsoIn: e.AlsoIn, Aggregator: e.Aggregator, Notes: e.Notes,
	}
	e.Server.Sandbox = e.Restrictions
	r.Sandbox = shown(e).Sandbox
	if e.Counts() {
		r.Alias = l.aliases[e.Server.Name]
		if n, at, ok := l.bridge.Servers().Listed(e.Server.Name); ok {
			r.Tools, r.Listed = &n, at.UTC().Format(time.RFC3339)
		}
	}
	return r
}

func transport(s config.Server) string {
	switch {
	case s.Transport != "":
		return s.Transport
	case s.Command != "":
		return config.Stdio
	case s.URL != "":
		return config.HTTP
	}
	return "-"
}

func (r serverRow) place() string {
	place := fmt.Sprintf("%s (%s)", r.Source, r.Scope)
	if len(r.AlsoIn) > 0 {
		place += fmt.Sprintf(" +%d", len(r.AlsoIn))
	}
	return place
}

func (r serverRow) tools() string {
	if r.Tools == nil {
		return "-"
	}
	return fmt.Sprint(*r.Tools)
}

// remark is the one thing worth saying about a row.
func (r serverRow) remark() string {
	switch {
	case r.Reason != "":
		return r.Reason
	case r.Aggregator != "":
		return "offers other servers: " + r.Aggregator
	case r.Sandbox != nil:
		return "in a sandbox: " + restricted(r.Sandbox)
	case len(r.Notes) > 0:
		return r.Notes[0]
	}
	return ""
}

func statusColour(s clientcfg.Status) string {
	switch s {
	case clientcfg.Ready:
		return green
	case clientcfg.NeedsApproval, clientcfg.NeedsInput, clientcfg.NeedsProgram, clientcfg.NeedsSignIn:
		return yellow
	case clientcfg.Invalid, clientcfg.SelfReference:
		return red
	}
	return ""
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
