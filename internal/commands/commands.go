// Package commands is the command line: its words, its flags, its exit codes.
//
// It owns the process's edges, which reach it as an [Env], and it is the only place where errors from
// below become messages, with the hints they have. It decides nothing about running code (bridge does) and
// knows no other way into the program than [Main], which closes what a command has opened before it returns.
package commands

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/urfave/cli/v3"
)

// Main runs the command that env.Args name and returns the process's exit code.
func Main(ctx context.Context, env Env) int {
	defer endQuietly()()
	env.ahead = startAhead(env)
	defer env.ahead.Close()
	tuneGC(env)
	log.SetOutput(io.Discard) // net/http writes there what a server says unasked, secrets and all (Go 1.26)
	ui := newUI(env)
	err := table(env, ui).Run(ctx, env.Args)
	return ui.report(err)
}

// table is the commands, in the order people read them.
func table(env Env, ui *ui) *cli.Command {
	root := &cli.Command{
		Name:        "codemode",
		Usage:       "run Python in a sandbox, with your MCP servers as its functions",
		Description: "More: codemode help COMMAND, codemode man, and docs/guide of its source.",
		Commands:    meant(env, ui),
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version", Local: true, Hidden: true}},
		Metadata: examples(
			`codemode exec -c 'print(sum(range(10)))'`,
			`codemode install claude`,
		),
		Action: func(_ context.Context, cmd *cli.Command) error {
			switch {
			case cmd.Bool("version"):
				return printVersion(env.Stdout, readVersion(), false)
			case cmd.Args().Present():
				return unknownCommand(cmd, cmd.Args().First())
			}
			return &usageError{msg: "which command?", hints: []string{"see: codemode help"}}
		},
		Writer:                          env.Stdout,
		ErrWriter:                       env.Stderr,
		Reader:                          env.Stdin,
		HideHelpCommand:                 true, // ours is in the table
		EnableShellCompletion:           true,
		ConfigureShellCompletionCommand: describeCompletion,
		ExitErrHandler:                  func(context.Context, *cli.Command, error) {}, // Main reports
	}
	_ = root.Walk(readStrictly)
	return root
}

// meant is every command that may be meant. The two that start a run are known by their first word alone: to make all
// the others takes 2 ms, for which somebody waits.
func meant(env Env, ui *ui) []*cli.Command {
	word := ""
	if len(env.Args) > 1 {
		word = env.Args[1]
	}
	switch word {
	case "exec":
		return []*cli.Command{execCommand(env, ui)}
	case "serve":
		return []*cli.Command{serveCommand(env, ui)}
	}
	return []*cli.Command{
		execCommand(env, ui),
		replCommand(env, ui),
		callCommand(env, ui),
		serveCommand(env, ui),
		serversCommand(env, ui),
		authCommand(env, ui),
		secretsCommand(env, ui),
		searchCommand(env, ui),
		docsCommand(env, ui),
		toolsCommand(env, ui),
		artifactsCommand(env, ui),
		packagesCommand(env, ui),
		auditCommand(env, ui),
		installCommand(env, ui),
		uninstallCommand(env, ui),
		imageCommand(env, ui),
		configCommand(env, ui),
		doctorCommand(env, ui),
		cleanCommand(env, ui),
		versionCommand(env, ui),
		manCommand(env),
		helpCommand(),
	}
}

// readStrictly sets how a command reads its words, for which the library has no setting of all commands.
func readStrictly(c *cli.Command) error {
	c.OnUsageError = flagError
	c.DisableSliceFlagSeparator = true
	if len(c.Commands) > 0 { // after a word that is no subcommand, no flag belongs to c
		first := 1
		c.StopOnNthArg = &first
	}
	for _, sub := range c.Commands {
		sub.Before = func(ctx context.Context, cmd *cli.Command) (context.Context, error) {
			return ctx, flagBefore(c, cmd)
		}
	}
	return nil
}

// flagBefore is a flag that stands between a command and its subcommand: the library would read it, and the subcommand
// go by its own flag of that name, which is not set.
func flagBefore(c, sub *cli.Command) error {
	for _, f := range c.Flags {
		if f.IsSet() {
			flag, behind := "--"+f.Names()[0], sub.FullName()
			return &usageError{
				fmt.Sprintf("%s is a flag of %q here, and stands before %q; nothing was done", flag, c.FullName(), sub.Name),
				[]string{"put it behind: " + behind + " " + flag},
			}
		}
	}
	return nil
}

// describeCompletion puts the library's completion command among ours.
func describeCompletion(c *cli.Command) {
	c.Hidden = false
	c.Usage = "print a completion script for bash, zsh, fish or pwsh"
	c.ArgsUsage = "SHELL"
	c.Description = "The script completes commands and flags. Load it when the shell starts."
	c.Metadata = examples(
		`source <(codemode completion bash)         # in ~/.bashrc`,
		`source <(codemode completion zsh)          # in ~/.zshrc`,
		`codemode completion fish > ~/.config/fish/completions/codemode.fish`,
		`codemode completion pwsh > codemode.ps1    # and run it from $PROFILE`,
	)
	c.OnUsageError = flagError
	shells := map[string]bool{}
	for _, shell := range c.Commands {
		shells[shell.Name] = true
		shell.Hidden = true
		shell.OnUsageError = flagError
		if shell.Name == "bash" {
			shell.Action = printBashCompletion
		}
	}
	c.Action = func(_ context.Context, cmd *cli.Command) error {
		if name := cmd.Args().First(); name != "" {
			return &usageError{
				msg: "unknown shell " + quote(name), hints: []string{"there are bash, zsh, fish and pwsh"},
			}
		}
		return &usageError{msg: "for which shell?", hints: []string{"there are bash, zsh, fish and pwsh"}}
	}
}

// bashCompletion is a script of our own: the library's evaluates the line that is being typed (urfave/cli v3.14,
// autocomplete/bash_autocomplete).
//
//go:embed completion.bash
var bashCompletion string

func printBashCompletion(_ context.Context, cmd *cli.Command) error {
	_, err := io.WriteString(cmd.Root().Writer, bashCompletion)
	return err
}

func helpCommand() *cli.Command {
	return &cli.Command{
		Name:      "help",
		Usage:     "show the commands, or how to use one",
		ArgsUsage: "[COMMAND...]",
		Metadata:  examples("codemode help exec", "codemode exec --help"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			root := cmd.Root()
			c := root
			for _, name := range cmd.Args().Slice() {
				next := c.Command(name)
				switch {
				case next == nil && c == root:
					return unknownCommand(root, name)
				case next == nil:
					return unknownSubcommand(c, name)
				}
				c = next
			}
			return printHelp(root.Writer, c)
		},
	}
}

// errQuiet ends a command whose message is out already.
var errQuiet = errors.New("")
