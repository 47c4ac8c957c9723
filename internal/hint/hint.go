// Package hint is what to do about an error: each package's errors say it themselves, in words that a terminal, a
// report and a result over MCP show alike.
//
// It never prints and decides nothing: who shows an error asks for its hints ([Of]). Nothing needs closing.
package hint

import (
	"errors"
	"strconv"
	"strings"

	"codemode/internal/catalog"
	"codemode/internal/lazyregexp"
)

// Hinter is an error with hints: sentences and commands that say what to do about it.
type Hinter interface {
	error
	Hint() []string
}

// Of is what to do about an error: the hints of the outermost error in the chain that has some.
func Of(err error) []string {
	for h := Hinter(nil); errors.As(err, &h); err = errors.Unwrap(h) {
		if hints := h.Hint(); len(hints) > 0 {
			return hints
		}
	}
	return nil
}

// New is an error with a text and hints.
func New(text string, hints ...string) error { return &hinted{text, hints} }

type hinted struct {
	text  string
	hints []string
}

func (e *hinted) Error() string  { return e.text }
func (e *hinted) Hint() []string { return e.hints }

// Nearest is the name that was most likely meant, if there is one.
func Nearest(typed string, known []string) []string {
	return Meant(catalog.Suggest(typed, known))
}

// Meant is the hint "did you mean" for the likeliest name; no hint where no name is close.
func Meant(name string) []string {
	if name == "" {
		return nil
	}
	return []string{"did you mean " + strconv.Quote(name) + "?"}
}

// NearestOrAll is the name that was most likely meant, else all there are.
func NearestOrAll(typed string, known []string) []string {
	if hints := Nearest(typed, known); hints != nil {
		return hints
	}
	if len(known) == 1 {
		return []string{"there is " + known[0] + " alone"}
	}
	return []string{"there are " + strings.Join(known, ", ")}
}

var plainWord = lazyregexp.New(`^[A-Za-z0-9@%_+=:,./][A-Za-z0-9@%_+=:,./-]*$`)

// Words are arguments as a shell takes them.
func Words(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = Word(arg)
	}
	return strings.Join(quoted, " ")
}

// Word quotes a name for a command that is shown to be pasted into a shell: names come from untrusted files.
func Word(name string) string {
	if plainWord().MatchString(name) {
		return name
	}
	quoted := "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	if strings.HasPrefix(name, "-") {
		return "-- " + quoted
	}
	return quoted
}
