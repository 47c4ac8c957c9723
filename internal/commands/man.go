package commands

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"
)

func manCommand(env Env) *cli.Command {
	return &cli.Command{
		Name:        "man",
		Usage:       "print the manual page, made of the command table",
		Description: "It is roff, which man shows and packages install.",
		Metadata:    examples("codemode man | man -l -", "codemode man > ~/.local/share/man/man1/codemode.1"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			_, err := io.WriteString(env.Stdout, manPage(cmd.Root()))
			return err
		},
	}
}

// manPage is all that help says, for man(1): one page, as of a program whose words are its commands.
func manPage(root *cli.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH CODEMODE 1 \"\" \"codemode %s\" \"User Commands\"\n", roff(readVersion().Version))
	fmt.Fprintf(&b, ".SH NAME\ncodemode \\- %s\n.SH SYNOPSIS\n.nf\n%s\n.fi\n.SH DESCRIPTION\n%s\n.SH COMMANDS\n",
		roff(root.Usage), roff(usageLine(root)), roff(root.Description))
	manCommands(&b, root)
	b.WriteString(".SH EXIT STATUS\n")
	for row := range strings.Lines(exitCodeDocs) {
		cells := strings.Split(strings.TrimSpace(row), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "-") || strings.TrimSpace(cells[1]) == "command" {
			continue
		}
		code := strings.TrimSpace(cells[1]) + ": " + strings.TrimSpace(cells[2])
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(code), roff(strings.ReplaceAll(strings.TrimSpace(cells[3]), "`", "")))
	}
	b.WriteString(".SH FILES\n.TP\n.I ~/.config/codemode/config.toml\nsettings\n.TP\n.I ~/MCPs\nservers of your own\n" +
		".TP\n.I ~/.cache/codemode\nwhat can be made again\n.TP\n.I ~/.local/state/codemode\nwhat cannot\n")
	return b.String()
}

func manCommands(b *strings.Builder, c *cli.Command) {
	for _, sub := range listed(c) {
		if sub.Name == "completion" {
			sub.Commands = nil // its commands are the shells
		}
		fmt.Fprintf(b, ".SS %s\n%s.\n", roff(usageLine(sub)), roff(sub.Usage))
		if sub.Description != "" {
			fmt.Fprintf(b, "%s\n", roff(sub.Description))
		}
		for _, line := range flagLines(sub) {
			flag, usage, _ := strings.Cut(strings.TrimSpace(line), "  ")
			if at := strings.LastIndex(flag, " "); usage == "" && at > 0 { // a long flag has one space behind it
				flag, usage = line[2:22], line[22:]
			}
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(flag)), roff(strings.TrimSpace(usage)))
		}
		if lines, _ := sub.Metadata["examples"].([]string); len(lines) > 0 {
			fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(strings.Join(lines, "\n")))
		}
		manCommands(b, sub)
	}
}

// roff is a text that man shows as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
