package commands

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"
)

// The library prints help through this variable in every case: --help, -h, a command without action.
func init() {
	cli.HelpPrinter = func(w io.Writer, _ string, data any) {
		if cmd, ok := data.(*cli.Command); ok {
			_ = printHelp(w, cmd)
		}
	}
}

func printHelp(w io.Writer, cmd *cli.Command) error {
	_, err := io.WriteString(w, helpText(cmd))
	return err
}

// examples are the command lines that a command's help ends with.
func examples(lines ...string) map[string]any { return map[string]any{"examples": lines} }

// helpText is a command's help. It fits a terminal of 24 lines and 80 columns, but for long lists of commands; a test
// holds that.
func helpText(cmd *cli.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\nusage: %s\n", cmd.FullName(), cmd.Usage, usageLine(cmd))
	if cmd.Description != "" {
		fmt.Fprintf(&b, "\n%s\n", cmd.Description)
	}
	if commands := listed(cmd); len(commands) > 0 {
		b.WriteString("\ncommands:\n")
		for _, c := range commands {
			fmt.Fprintf(&b, "  %-20s %s\n", c.Name, c.Usage)
		}
	}
	if flags := flagLines(cmd); len(flags) > 0 {
		fmt.Fprintf(&b, "\nflags:\n%s", strings.Join(flags, ""))
	}
	if lines, _ := cmd.Metadata["examples"].([]string); len(lines) > 0 {
		fmt.Fprintf(&b, "\nexamples:\n  %s\n", strings.Join(lines, "\n  "))
	}
	return b.String()
}

func usageLine(cmd *cli.Command) string {
	parts := []string{cmd.FullName()}
	if len(flagLines(cmd)) > 0 {
		parts = append(parts, "[FLAG...]")
	}
	if len(listed(cmd)) > 0 { // whose flags stand behind it
		if len(parts) > 1 {
			parts = append(parts, "|")
		}
		parts = append(parts, "COMMAND [FLAG...] [ARG...]")
	}
	if cmd.ArgsUsage != "" {
		parts = append(parts, cmd.ArgsUsage)
	}
	return strings.Join(parts, " ")
}

func listed(cmd *cli.Command) (list []*cli.Command) {
	for _, c := range cmd.Commands {
		if !c.Hidden {
			list = append(list, c)
		}
	}
	return list
}

// flagLines describes every flag but --help, which the reader has found. The name of a flag's
// value is in backquotes in its usage.
func flagLines(cmd *cli.Command) (lines []string) {
	var settings []string
	for _, f := range cmd.Flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if v, can := f.(cli.VisibleFlag); !ok || can && !v.IsVisible() || f.Names()[0] == "help" {
			continue
		}
		usage, value := doc.GetUsage(), ""
		if before, rest, ok := strings.Cut(usage, "`"); ok {
			if name, after, ok := strings.Cut(rest, "`"); ok {
				usage, value = strings.TrimSpace(before+after), name
			}
		}
		names := make([]string, len(f.Names()))
		for i, n := range f.Names() {
			names[i] = dashed(n)
		}
		left := strings.TrimSpace(strings.Join(names, ", ") + " " + value)
		if c, ok := f.(cli.CategorizableFlag); ok && c.GetCategory() == settingsCategory && len(cmd.Flags) > manyFlags {
			settings = append(settings, left)
			continue
		}
		lines = append(lines, fmt.Sprintf("  %-20s %s\n", left, usage))
	}
	return append(lines, gathered(settings)...)
}

// gathered are the flags that stand for settings, without words.
func gathered(settings []string) (lines []string) {
	if settings == nil {
		return nil
	}
	lines = []string{"settings, which codemode config shows:\n"}
	line := " "
	for i, s := range settings {
		if i < len(settings)-1 {
			s += ","
		}
		if len(line)+len(s) > 78 {
			lines, line = append(lines, line+"\n"), " "
		}
		line += " " + s
	}
	return append(lines, line+"\n")
}
