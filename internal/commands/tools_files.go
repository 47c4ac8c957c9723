package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"codemode/internal/bridge"
	"codemode/internal/fileerr"
	"codemode/internal/hint"
	"codemode/internal/plainfile"
	"codemode/internal/toolbox"

	"github.com/urfave/cli/v3"
)

func exportToolsCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:        "export",
		Usage:       "write saved tools to a Python file",
		ArgsUsage:   "[NAME...] FILE",
		Description: "Without names, all of them; - is standard output. import reads the file again.",
		Flags:       append([]cli.Flag{forceFlag("write over a file that is there")}, tenantFlags()...),
		Metadata:    examples(`codemode tools export tools.py`, `codemode tools export weekly_report -`),
		Action: func(_ context.Context, cmd *cli.Command) error {
			args := cmd.Args().Slice()
			if len(args) == 0 {
				return &usageError{
					"export takes a file, and before it perhaps names of saved tools",
					[]string{"see: codemode tools export --help"},
				}
			}
			t, err := openTools(env, ui, cmd)
			if err != nil {
				return err
			}
			defer t.close(ui)
			names, file := args[:len(args)-1], args[len(args)-1]
			text, n, err := t.export(names)
			switch {
			case err != nil:
				return fmt.Errorf("%w; nothing was written", err)
			case file == "-":
				_, err = io.WriteString(env.Stdout, text)
				return err
			}
			if err := t.write(file, strings.NewReader(text), cmd.Bool("force"), 0o600); err != nil {
				return fmt.Errorf("writing %s: %w", quote(file), err)
			}
			ui.note("exported", plural(n, "tool", "tools")+" to "+quote(file))
			return nil
		},
	}
}

func forceFlag(usage string) cli.Flag { return &cli.BoolFlag{Name: "force", Usage: usage, Local: true} }

// export is the named tools, or all, as a Python module.
func (t *tools) export(names []string) (text string, n int, err error) {
	var chosen []toolbox.Tool
	for _, name := range names {
		tool, err := t.load(name)
		if err != nil {
			return "", 0, err
		}
		chosen = append(chosen, tool)
	}
	if len(names) == 0 {
		var problems []error
		if chosen, problems = t.box.List(); len(problems) > 0 {
			return "", 0, errors.Join(problems...)
		}
	}
	if len(chosen) == 0 {
		return "", 0, errors.New("no tool is saved")
	}
	var b strings.Builder
	b.WriteString("# Saved tools of codemode. To have them elsewhere: codemode tools import FILE\n")
	b.WriteString("from __future__ import annotations  # else Python would run them\n")
	for _, tool := range chosen {
		b.WriteString("\n\n" + tool.Source)
	}
	return b.String(), len(chosen), nil
}

func importToolsCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "save the functions of a Python file, or of a folder's",
		ArgsUsage: "FILE",
		Description: "It reads functions that stand on their own and executes nothing; a sandbox\n" +
			"parses them. What cannot be kept is told, and it ends with 1. ~/MCPs/user_tools\n" +
			"of the Python original is such a file or folder; it stays as it is.",
		Flags: append(append([]cli.Flag{forceFlag("replace saved tools of the same names")}, tenantFlags()...),
			settingFlags("runtime", "python", "pull")...),
		Metadata: examples(`codemode tools import tools.py`, `codemode tools import ~/MCPs/user_tools`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Len() != 1 {
				return &usageError{"import takes one file or folder", []string{"see: codemode tools import --help"}}
			}
			ctx, stop := interruptible(ctx)
			defer stop()
			return runImport(ctx, env, ui, cmd, cmd.Args().First())
		},
	}
}

func runImport(ctx context.Context, env Env, ui *ui, cmd *cli.Command, name string) error {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return err
	}
	if t.toolsDir() == "" {
		return errNoToolsDir
	}
	if name, err = t.follow(name); err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	files, err := modules(ui, name)
	if err != nil {
		return err
	}
	b, err := t.execBridge(ui, execLog(env, t.config))
	if err != nil {
		return err
	}
	var sum imported
	for _, file := range files {
		sum.module(ctx, ui, b, file, cmd.Bool("force"))
	}
	ui.done()
	if err := b.Close(); err != nil {
		ui.warn(err.Error())
	}
	if sum.saved > 0 || sum.same == 0 {
		ui.note("imported", plural(sum.saved, "tool is saved", "tools are saved")+" now")
	}
	if sum.failed > 0 || sum.saved+sum.same == 0 {
		return exit(exitFailed)
	}
	return nil
}

// imported counts functions: those that were saved now, were saved as they are before, could not be.
type imported struct{ saved, same, failed int }

// module saves a file's functions and tells what became of each.
func (sum *imported) module(ctx context.Context, ui *ui, b *bridge.Bridge, file string, force bool) {
	source, err := readModule(file)
	if err != nil {
		ui.error(err.Error())
		sum.failed++
		return
	}
	all, rest, err := b.SaveTools(ctx, source, force)
	if err != nil {
		ui.error(fmt.Sprintf("%s: %v; nothing of it was saved", quote(file), err), hint.Of(err)...)
		sum.failed++
		return
	}
	for _, k := range all {
		if k.Err != nil {
			sum.failed++
			ui.warn(fmt.Sprintf("%s:%d: %v", file, k.Line, k.Err), hint.Of(k.Err)...)
			continue
		}
		if k.Change == toolbox.Same {
			sum.same++
		} else {
			sum.saved++
		}
		ui.note(string(k.Change), quote(k.Name))
	}
	for _, r := range rest {
		if r.What != "docstring" && r.What != "future statement" { // which export begins with
			ui.note("left out", fmt.Sprintf("%s:%d: %s; functions alone are saved", file, r.Line, article(r.What)))
		}
	}
}

func article(what string) string {
	if strings.ContainsAny(what[:1], "aeiou") {
		return "an " + what
	}
	return "a " + what
}

// maxModule bounds a file of tools, in bytes.
const maxModule = 1 << 20

func readModule(file string) (string, error) {
	data, err := plainfile.Read(file, maxModule)
	if err != nil {
		return "", fmt.Errorf("reading %q: %w", file, err)
	}
	return string(data), nil
}

// modules are the Python files that a name means: a file, or those in a folder. A link in that is no choice of who has
// named it.
func modules(ui *ui, name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", name, fileerr.Cause(err))
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", name, fileerr.Cause(err))
	}
	var files []string
	for _, e := range entries {
		switch file := filepath.Join(name, e.Name()); {
		case filepath.Ext(file) != ".py":
		case e.Type().IsRegular():
			files = append(files, file)
		default:
			ui.note("left out", quote(file)+", which is a link or no file")
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no Python file in %q", name)
	}
	return files, nil
}

// oldTools is where the Python original kept saved tools, where there are any.
func (t *tools) oldTools() string {
	for _, name := range []string{"user_tools", "user_tools.py"} {
		file := filepath.Join(t.config.Servers.Dir, name)
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}
