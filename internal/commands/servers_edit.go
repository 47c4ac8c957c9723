package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/install"
	"codemode/internal/fileerr"
	"codemode/internal/hint"

	"github.com/urfave/cli/v3"
)

// foreignServerError is why a server stays as it is.
type foreignServerError struct {
	name, file, what string
	own              bool // in config.toml
}

func (e *foreignServerError) Error() string {
	return fmt.Sprintf(
		"server %q is configured in %q, which codemode does not change; nothing was %s", e.name, e.file, e.what,
	)
}

// Hint is where to do it.
func (e *foreignServerError) Hint() []string {
	switch {
	case e.own:
		return []string{"codemode servers edit " + hint.Word(e.name)}
	case e.what == "switched off":
		return []string{fmt.Sprintf("to leave it out of codemode: mcp.exclude = [%s] in config.toml", quote(e.name))}
	}
	return []string{"change it in the program that it is from"}
}

// ownEntry is an entry of a file in codemode's own folder, or that is named as one of servers.
func (t *tenancy) ownEntry(name, what string) (clientcfg.Entry, error) {
	entries, err := t.named(name)
	if err != nil {
		return clientcfg.Entry{}, err
	}
	e := entries[0]
	toml := strings.HasSuffix(e.Server.Source, ".toml")
	if !isOwn(e) || e.Scope == clientcfg.Project || toml {
		return e, &foreignServerError{name, e.Server.Source, what, toml && isOwn(e)}
	}
	return e, nil
}

// editor changes files of codemode's own.
func (t *tenancy) editor() *install.Installer { return &install.Installer{State: t.paths.State} }

// switchCommand is enable or disable.
func switchCommand(env Env, ui *ui, name, usage string, on bool) *cli.Command {
	what := map[bool]string{true: "switched on", false: "switched off"}[on]
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "NAME...",
		Description: "It changes the entry in your own file of servers, and nothing else in that.",
		Flags:       append(settingFlags("tenant"), configFlag()),
		Metadata:    examples(`codemode servers ` + name + ` memory`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if !cmd.Args().Present() {
				return &usageError{cmd.Name + " takes the names of servers", []string{"there are: codemode servers"}}
			}
			t, err := openTenancy(env, cmd)
			if err != nil {
				return err
			}
			var chosen []clientcfg.Entry
			for _, name := range cmd.Args().Slice() {
				e, err := t.ownEntry(name, what)
				if err != nil {
					return err
				}
				chosen = append(chosen, e)
			}
			for _, e := range chosen {
				if err := t.editor().SwitchOwn(ctx, e.Server.Source, e.Written, on); err != nil {
					return fmt.Errorf("changing server %q in %q: %w; it is as it was", e.Written, e.Server.Source, err)
				}
				ui.note("servers", fmt.Sprintf("%s is %s in %s", quote(e.Written), what, quote(e.Server.Source)))
			}
			return nil
		},
	}
}

func renameServerCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name: "rename", Usage: "call a server of your own by another name", ArgsUsage: "NAME NEW",
		Description: "Code finds it as mcp_NEW. Rules that name it must be changed, too.",
		Flags:       append(settingFlags("tenant"), configFlag()),
		Metadata:    examples(`codemode servers rename memory notes`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Len() != 2 {
				return &usageError{
					"rename takes the server's name and its new one", []string{"there are: codemode servers"},
				}
			}
			t, err := openTenancy(env, cmd)
			if err != nil {
				return err
			}
			return renameServer(ctx, ui, t, cmd.Args().Get(0), cmd.Args().Get(1))
		},
	}
}

func renameServer(ctx context.Context, ui *ui, t *tenancy, name, as string) error {
	if !serverFileName().MatchString(as) {
		return &usageError{"server name " + quote(as) + " must be letters, digits, '.', '-' and '_'", nil}
	}
	e, err := t.ownEntry(name, "renamed")
	if err != nil {
		return err
	}
	for _, other := range t.found.Named(as) {
		if isOwn(other) {
			return fmt.Errorf("server %q is configured in %q already; nothing was renamed", as, other.Server.Source)
		}
	}
	file := e.Server.Source
	if file == filepath.Join(t.config.Servers.Dir, e.Written+".json") && t.inFile(file) == 1 {
		file = filepath.Join(t.config.Servers.Dir, as+".json")
	}
	if err := t.editor().RenameOwn(ctx, e.Server.Source, e.Written, as, file); err != nil {
		return fmt.Errorf("renaming server %q in %q: %w; nothing was renamed", e.Written, e.Server.Source, err)
	}
	ui.note("servers", fmt.Sprintf("%s is now %s, in %s", quote(e.Written), quote(as), quote(file)))
	return nil
}

func editServerCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name: "edit", Usage: "open the file that a server is configured in", ArgsUsage: "NAME",
		Description: "VISUAL or EDITOR names the program. It is told what is wrong with the file then.",
		Flags:       append(settingFlags("tenant"), configFlag()),
		Metadata:    examples(`codemode servers edit memory`, `EDITOR=nano codemode servers edit memory`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			name, t, err := openNamed(env, cmd)
			if err != nil {
				return err
			}
			entries, err := t.entriesToEdit(name)
			if err != nil {
				return err
			}
			return editServer(ctx, ui, t, entries)
		},
	}
}

// entriesToEdit finds an entry also where it is only a problem: that is what one wants to mend.
func (t *tenancy) entriesToEdit(name string) (clientcfg.Entry, error) {
	if i := slices.IndexFunc(
		t.found.Entries, func(e clientcfg.Entry) bool { return e.Written == name && isOwn(e) },
	); i >= 0 {
		return t.found.Entries[i], nil
	}
	entries, err := t.named(name)
	if err != nil {
		return clientcfg.Entry{}, err
	}
	return entries[0], nil
}

func editServer(ctx context.Context, ui *ui, t *tenancy, e clientcfg.Entry) error {
	editor := t.env.get("VISUAL")
	if editor == "" {
		editor = t.env.get("EDITOR")
	}
	words := strings.Fields(editor)
	if len(words) == 0 {
		return hint.New(
			fmt.Sprintf(
				"server %q is in %q, and neither VISUAL nor EDITOR names a program to edit it with", e.Written,
				e.Server.Source,
			),
			"EDITOR=nano codemode servers edit "+hint.Word(e.Written),
		)
	}
	program, err := lookPath(t.env)(words[0])
	if err != nil {
		return fmt.Errorf("starting the editor %q: %w; nothing was changed", words[0], fileerr.Cause(err))
	}
	editing := exec.CommandContext(ctx, program, append(words[1:], e.Server.Source)...)
	editing.Dir, editing.Env = t.env.Dir, t.env.Environ
	editing.Stdin, editing.Stdout, editing.Stderr = t.env.Stdin, t.env.Stdout, t.env.Stderr
	if err := editing.Run(); err != nil {
		return fmt.Errorf("editor %q: %w", words[0], err)
	}
	t.discover()
	var wrong []error
	for _, p := range t.found.Problems {
		if p.File == e.Server.Source {
			wrong = append(wrong, p)
		}
	}
	if _, err := os.Stat(e.Server.Source); err == nil && len(wrong) == 0 {
		ui.note("servers", fmt.Sprintf("%s has no mistakes", quote(e.Server.Source)))
	}
	return errors.Join(wrong...)
}
