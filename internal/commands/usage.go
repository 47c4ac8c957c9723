package commands

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"codemode/internal/hint"
	"codemode/internal/lazyregexp"

	"github.com/urfave/cli/v3"
)

// usageError is a command line that cannot be meant. Nothing has been done when it is returned.
type usageError struct {
	msg   string
	hints []string
}

func (e *usageError) Error() string { return e.msg }

// Hint is how to say it.
func (e *usageError) Hint() []string { return e.hints }

// flagError puts what the library says about flags into our words. Its messages are all there is to
// tell the cases apart (urfave/cli v3.14: command_parse.go, flag_impl.go).
func flagError(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	msg := err.Error()
	help := "see: " + cmd.FullName() + " --help"
	if name, ok := strings.CutPrefix(msg, "flag provided but not defined: -"); ok {
		typed := dashed(name)
		hints := append(hint.Nearest(typed, flagNames(cmd)), help)
		if cmd.FullName() == "codemode servers add" {
			hints = append(
				hints, "flags of the server's command stand behind --: "+cmd.FullName()+" NAME -- COMMAND "+typed,
			)
		}
		return &usageError{"unknown flag " + quote(typed), hints}
	}
	if name, ok := strings.CutPrefix(msg, "flag needs an argument: "); ok {
		return &usageError{"flag " + quote(dashed(strings.TrimLeft(name, "-"))) + " needs a value", []string{help}}
	}
	if m := badValue().FindStringSubmatch(msg); m != nil {
		want := "a number"
		if !strings.HasPrefix(m[3], "strconv.") || strings.Contains(m[3], "ParseBool") {
			want = "true or false"
		}
		return &usageError{fmt.Sprintf("flag %s is %s; it must be %s", dashed(m[2]), quote(m[1]), want), []string{help}}
	}
	return &usageError{msg, []string{help}}
}

// badValue is what the library says of a value that strconv refuses.
var badValue = lazyregexp.New(`(?s)^invalid value "(.*)" for flag -+(\S+): (strconv\..*|parse error)$`)

func unknownCommand(root *cli.Command, name string) error {
	hints := hint.Nearest(name, commandNames(root))
	if strings.HasSuffix(name, ".py") {
		hints = []string{fmt.Sprintf("to run it: codemode exec %s", name)}
	}
	return &usageError{"unknown command " + quote(name), append(hints, "see: codemode help")}
}

// unknownSubcommand is about the second word of a command that has commands.
func unknownSubcommand(cmd *cli.Command, name string) error {
	return &usageError{
		"unknown command " + quote(cmd.Name+" "+name),
		append(hint.Nearest(name, commandNames(cmd)), "see: "+cmd.FullName()+" --help"),
	}
}

// noArguments refuses arguments that would be ignored.
func noArguments(cmd *cli.Command) error {
	if !cmd.Args().Present() {
		return nil
	}
	return &usageError{
		strings.TrimPrefix(cmd.FullName(), "codemode ") + " takes no arguments, but there is " + quote(
			cmd.Args().First(),
		),
		[]string{"see: " + cmd.FullName() + " --help"},
	}
}

func flagNames(cmd *cli.Command) (names []string) {
	for _, f := range cmd.Flags {
		for _, n := range f.Names() {
			names = append(names, dashed(n))
		}
	}
	return names
}

// dashed is a flag's name as it is typed.
func dashed(name string) string {
	if utf8.RuneCountInString(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
