package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"codemode/internal/bridge"
	"codemode/internal/hint"
	"codemode/internal/toolbox"
	"codemode/internal/visible"

	"github.com/urfave/cli/v3"
)

func toolsCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "tools",
		Usage: "functions that code has saved for later sessions",
		Description: "Code saves one with save_tool(function); later `from tools import NAME` has it.\n" +
			"Nothing here executes any.",
		Flags:           tenantFlags(),
		HideHelpCommand: true,
		Commands: []*cli.Command{
			listToolsCommand(env, ui), showToolCommand(env, ui), removeToolsCommand(env, ui),
			exportToolsCommand(env, ui), importToolsCommand(env, ui),
		},
		Metadata: examples(
			`codemode tools list`,
			`codemode tools show weekly_report`,
			`codemode tools export tools.py && codemode tools import --tenant work tools.py`,
		),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return unknownSubcommand(cmd, cmd.Args().First())
			}
			return &usageError{
				"what about the saved tools?", []string{"codemode tools list", "see: codemode tools --help"},
			}
		},
	}
}

// tenantFlags are those of every command that looks at what a tenant keeps.
func tenantFlags() []cli.Flag { return append(settingFlags("tenant"), configFlag()) }

// errNoToolsDir is a machine where nothing can be kept.
var errNoToolsDir = errors.New("there is no folder to keep tools in: neither HOME nor XDG_STATE_HOME names one")

// tools is a tenant's toolbox, and a bridge that knows what has changed about the servers. Nothing is started for it.
type tools struct {
	*tenancy
	box    *toolbox.Box
	bridge *bridge.Bridge
}

// openTools looks into the toolbox. The caller calls close.
func openTools(env Env, ui *ui, cmd *cli.Command) (*tools, error) {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return nil, err
	}
	if t.toolsDir() == "" {
		return nil, errNoToolsDir
	}
	ui.warnAll(t.ownProblems())
	return &tools{
		t, toolbox.New(t.toolsDir(), t.disk(slog.New(slog.DiscardHandler))),
		bridge.New(t.bridgeOptions(slog.New(slog.DiscardHandler))),
	}, nil
}

func (t *tools) close(ui *ui) {
	if err := t.bridge.Close(); err != nil {
		ui.warn(err.Error())
	}
}

// load returns the tool of that name, with an error that names the others.
func (t *tools) load(name string) (toolbox.Tool, error) {
	tool, err := t.box.Load(name)
	if !errors.Is(err, toolbox.ErrNone) {
		return tool, err
	}
	all, _ := t.box.List()
	missing := &toolbox.NoToolError{Name: name}
	for _, other := range all {
		missing.Known = append(missing.Known, other.Name)
	}
	return tool, missing
}

// toolRow is a saved tool in JSON.
type toolRow struct {
	Name      string        `json:"name"`
	Signature string        `json:"signature"`
	Doc       string        `json:"doc,omitempty"`
	Saved     string        `json:"saved"` // RFC 3339
	Hash      string        `json:"hash"`  // SHA-256 of its source
	Needs     []string      `json:"needs,omitempty"`
	Uses      []toolbox.Use `json:"uses,omitempty"`
	Warnings  []string      `json:"warnings,omitempty"`
	Source    string        `json:"source,omitempty"` // of show
}

func (t *tools) row(tool toolbox.Tool) toolRow {
	return toolRow{
		Name: tool.Name, Signature: tool.Signature, Doc: tool.Doc, Saved: tool.Saved.Format(time.RFC3339),
		Hash: tool.Hash(), Needs: tool.Needs, Uses: tool.Uses, Warnings: t.bridge.Remarks(tool),
	}
}

// uses names the servers' tools, as short as a table wants it.
func (r toolRow) uses() string {
	var names []string
	for _, u := range r.Uses {
		names = append(names, visible.Call(u.Server, u.Tool))
	}
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, " ")
}

func listToolsCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:     "list",
		Usage:    "list the saved tools, and what has changed below them",
		Flags:    append([]cli.Flag{jsonFlag()}, tenantFlags()...),
		Metadata: examples(`codemode tools list`, `codemode tools list --json`),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			t, err := openTools(env, ui, cmd)
			if err != nil {
				return err
			}
			defer t.close(ui)
			return t.print(ui, cmd.Bool("json"))
		},
	}
}

func (t *tools) print(ui *ui, asJSON bool) error {
	saved, problems := t.box.List()
	for _, p := range problems {
		ui.warn(p.Error())
	}
	rows := []toolRow{}
	for _, tool := range saved {
		rows = append(rows, t.row(tool))
	}
	out := newSheet(t.env)
	if asJSON {
		return out.json(rows)
	}
	if len(rows) == 0 {
		ui.note("note", "no tool is saved")
		if old := t.oldTools(); old != "" {
			ui.hints([]string{"codemode tools import " + hint.Word(old)})
		}
		return nil
	}
	table := make([][]cell, 0, len(rows))
	for _, r := range rows {
		table = append(table, []cell{
			{r.Name, ""}, {r.Saved[:len("2006-01-02")], ""}, {r.uses(), ""}, {strings.Join(r.Warnings, "; "), yellow},
		})
	}
	return out.table([]string{"NAME", "SAVED", "USES", ""}, table)
}

func showToolCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show a saved tool: text, uses, what has changed",
		ArgsUsage: "NAME",
		Flags:     append([]cli.Flag{jsonFlag()}, tenantFlags()...),
		Metadata:  examples(`codemode tools show weekly_report`),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Len() != 1 {
				return &usageError{"show takes the name of one saved tool", []string{"there are: codemode tools list"}}
			}
			t, err := openTools(env, ui, cmd)
			if err != nil {
				return err
			}
			defer t.close(ui)
			tool, err := t.load(cmd.Args().First())
			if err != nil {
				return err
			}
			row, out := t.row(tool), newSheet(env)
			if cmd.Bool("json") {
				row.Source = tool.Source
				return out.json(row)
			}
			return out.text(row.detail() + "\n" + tool.Source)
		},
	}
}

// detail is a tool for people.
func (r toolRow) detail() string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-9s %s\n", name, oneLine(value))
		}
	}
	line("name", r.Name)
	line("saved", r.Saved)
	line("sha256", r.Hash)
	line("needs", strings.Join(r.Needs, ", "))
	for _, u := range r.Uses {
		line("uses", visible.Call(u.Server, u.Tool))
	}
	for _, w := range r.Warnings {
		line("warning", w)
	}
	return b.String()
}

func removeToolsCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "remove",
		Usage:     "remove saved tools",
		ArgsUsage: "NAME...",
		Flags:     tenantFlags(),
		Metadata:  examples(`codemode tools remove weekly_report`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if !cmd.Args().Present() {
				return &usageError{"remove takes the names of saved tools", []string{"there are: codemode tools list"}}
			}
			t, err := openTools(env, ui, cmd)
			if err != nil {
				return err
			}
			defer t.close(ui)
			names := cmd.Args().Slice()
			ui.working("removing saved tools")
			defer ui.done()
			if err := t.box.Remove(ctx, names...); err != nil {
				return fmt.Errorf("%w; nothing was removed", err)
			}
			for _, name := range names {
				ui.note("removed", quote(name))
			}
			return nil
		},
	}
}
