package commands

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v3"
)

// run is one start of the program, without a process.
func run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	env := Env{
		Args: append([]string{"codemode"}, args...), Stdout: &out, Stderr: &errs, Dir: ".",
		Lookup: func(string) (string, bool) { return "", false },
	}
	code = Main(context.Background(), env)
	return code, out.String(), errs.String()
}

// TestHelpFitsAScreen is about 24 lines of 80 columns, the size every terminal has had; a list of many commands may
// scroll.
func TestHelpFitsAScreen(t *testing.T) {
	names := append(allCommands(table(Env{}, &ui{})), "completion", "")
	for _, name := range names {
		code, text, _ := run(append([]string{"help"}, strings.Fields(name)...)...)
		if code != 0 || text == "" {
			t.Fatalf("help %s: code %d, %q", name, code, text)
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if limit := 24 + 10*strings.Count(text, "\ncommands:\n"); len(lines) > limit {
			t.Errorf("help %s has %d lines", name, len(lines))
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("help %s is wider than 80 columns: %s", name, line)
			}
		}
		_, examples, ok := strings.Cut(text, "\nexamples:\n")
		if !ok || strings.Contains(examples, "\n\n") || !strings.Contains(examples, "codemode") {
			t.Errorf("help %s does not end with examples:\n%s", name, text)
		}
	}
}

// allCommands are the words that lead to each command.
func allCommands(c *cli.Command) (list []string) {
	for _, sub := range c.Commands {
		list = append(list, sub.Name)
		for _, below := range allCommands(sub) {
			list = append(list, sub.Name+" "+below)
		}
	}
	return list
}

// TestEveryFlagIsDescribed holds that no flag has a value without a name, or no words.
func TestEveryFlagIsDescribed(t *testing.T) {
	for _, c := range table(Env{}, &ui{}).Commands {
		for _, line := range flagLines(c) {
			if fields := strings.Fields(line); len(fields) < 3 || strings.Contains(line, "`") {
				t.Errorf("%s: %q", c.Name, line)
			}
		}
	}
}
