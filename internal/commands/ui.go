package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"codemode/internal/bridge"
	"codemode/internal/hint"
	"codemode/internal/visible"

	"golang.org/x/term"
)

// The rules of the interface, which hold because this is the only file that writes messages:
//
//   - Results go to stdout, everything said about them to stderr.
//   - A message is one line: the program's name, what it is, and a sentence in lower case without a full
//     stop. What the user typed is quoted. Every hint is a line of its own, and something to do.
//   - Colour and lines that are rewritten only on a terminal; colour never with NO_COLOR (no-color.org).
type ui struct {
	out    io.Writer // stderr
	live   bool      // lines can be rewritten
	colour bool

	mu       sync.Mutex
	progress bool   // the cursor is in a progress line,
	shown    string // which is this
	inLine   bool   // the cursor is behind what a program has printed
	waits    []*wait
	ticker   *time.Timer // shows them
	ticking  bool
}

func newUI(env Env) *ui {
	live := isTerminal(env.Stderr) && env.get("TERM") != "dumb"
	return &ui{out: env.Stderr, live: live, colour: live && env.get("NO_COLOR") == ""}
}

func isTerminal(stream any) bool {
	if w, ok := stream.(*lockedWriter); ok {
		stream = w.Writer
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// legible has what follows be seen on a terminal that a program has written to.
func (u *ui) legible() {
	if w, ok := u.out.(*lockedWriter); ok && u.live {
		w.legible()
	}
}

// Colours, as their SGR parameters.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (u *ui) line(colour, kind, text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	u.legible()
	text = "codemode: " + kind + " " + oneLine(text)
	if kind != hintKind { // which is often a command, to be copied whole
		text = folded(text, u.columns())
	}
	if u.colour {
		text = strings.Replace(text, kind, "\x1b["+colour+"m"+kind+"\x1b[0m", 1)
	}
	fmt.Fprintln(u.out, text)
}

const hintKind = "hint:"

// columns is how wide the terminal is; 0 of what is none.
func (u *ui) columns() (n int) {
	if f, ok := u.out.(*os.File); ok {
		n, _, _ = term.GetSize(int(f.Fd()))
	}
	return n
}

// fits says whether the terminal shows a text, which is printed by raw, at once.
func (u *ui) fits(text string) bool {
	columns, rows := 80, 24
	if f, ok := u.out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			columns, rows = w, h
		}
	}
	for line := range strings.SplitSeq(visible.Text(text), "\n") {
		rows -= max(1, (columnsOf(line)+columns-1)/columns)
	}
	return rows >= 0
}

func (u *ui) error(text string, hints ...string) {
	u.line(red, "error:", text)
	u.hints(hints)
}

func (u *ui) warn(text string, hints ...string) {
	u.line(yellow, "warning:", text)
	u.hints(hints)
}

// warnAll warns of problems, each with what can be done about it.
func (u *ui) warnAll(problems []error) {
	for _, problem := range problems {
		u.warn(problem.Error(), hint.Of(problem)...)
	}
}

// effects says what a program has done that must not be repeated without a look.
func (u *ui) effects(e bridge.Effects) {
	for _, text := range e.Lines() {
		u.line(yellow, "note:", text)
	}
}

func (u *ui) note(kind, text string) { u.line(cyan, kind+":", text) }

func (u *ui) hints(hints []string) {
	for _, h := range hints {
		u.line(cyan, hintKind, h)
	}
}

// oneLine shows a text, which code may have made, such that it cannot pass for another message or move the cursor.
func oneLine(text string) string {
	return strings.ReplaceAll(visible.Text(strings.TrimSuffix(text, "\n")), "\n", `\n`)
}

// unless is a text that is none of the usual ones.
func unless(text string, usual ...string) string {
	if slices.Contains(usual, text) {
		return ""
	}
	return text
}

// period is how long something may take, if the entry says it.
func period(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// raw writes text that is Python's, not ours.
func (u *ui) raw(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	u.legible()
	_, _ = io.WriteString(u.out, visible.Text(text))
}

// aside clears the progress line before a program's output, which must not end up behind it.
func (u *ui) aside(printed []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	u.inLine = len(printed) > 0 && printed[len(printed)-1] != '\n'
}

// clear is called with u.mu held.
func (u *ui) clear() {
	if u.progress {
		fmt.Fprint(u.out, "\r\x1b[K")
		u.progress = false
	}
}

// report says what went wrong, and returns the exit code.
func (u *ui) report(err error) int {
	u.quit()
	if err == nil {
		return 0
	}
	code := exitCode(err)
	for _, e := range separate(err) {
		if text := e.Error(); text != "" {
			u.error(text, hint.Of(e)...)
		}
	}
	return code
}

// separate returns the errors that errors.Join joined, which are told one by one.
func separate(err error) []error {
	var exit *exitError
	if errors.As(err, &exit) {
		err = exit.err
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func quote(s string) string { return strconv.Quote(s) }

// ask puts a question to which only y is yes. It is for terminals.
func (u *ui) ask(from io.Reader, question string) bool {
	answer := u.put(from, question+" [y/N]", "y", "yes", "n", "no")
	return answer == "y" || answer == "yes"
}

// askAfresh is ask after something that took its time: what was typed meanwhile was no answer to this. Stdin and stderr
// are a terminal.
func (u *ui) askAfresh(ctx context.Context, env Env, question string) bool {
	if out, ok := env.Stderr.(*os.File); ok {
		u.mu.Lock()
		u.clear()
		err := discardTyped(env.Stdin, out)
		u.mu.Unlock()
		if err != nil {
			u.warn("nobody was asked: what was typed before cannot be discarded: " + err.Error())
			return false
		}
	}
	return u.ask(whileGoing(ctx, env.Stdin), question)
}

// askEach is ask about one of several; the answer may be given for all of them.
func (u *ui) askEach(from io.Reader, question string) (yes, all bool) {
	answer := u.put(from, question+" [y/N/all]", "y", "yes", "n", "no", "a", "all")
	all = answer == "a" || answer == "all"
	return all || answer == "y" || answer == "yes", all
}

// put puts a question, and returns the answer that is typed: one of these, or nothing. What is none of them is asked
// for again, a few times.
func (u *ui) put(from io.Reader, question string, answers ...string) string {
	wrong := ""
	for range maxWrong {
		u.mu.Lock()
		u.clear()
		fmt.Fprint(u.out, folded(fmt.Sprintf("codemode: %s%s ", wrong, oneLine(question)), u.columns()))
		u.mu.Unlock()
		line, ended := typed(from)
		if ended {
			fmt.Fprintln(u.out) // the cursor is behind the question yet
		}
		answer := strings.ToLower(strings.TrimSpace(line))
		if answer == "" || slices.Contains(answers, answer) {
			return answer
		}
		wrong = oneLine(quote(answer)) + " is no answer; "
	}
	return ""
}

// whileGoing reads from a terminal as long as ctx goes on; from anything else as it is.
func whileGoing(ctx context.Context, from io.Reader) io.Reader {
	if f, ok := from.(*os.File); ok && isTerminal(f) {
		return untilDone{ctx, f}
	}
	return from
}

// typed reads a line, and nothing behind it, which is for the next question.
func typed(from io.Reader) (text string, ended bool) {
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := from.Read(b)
		if n > 0 && b[0] != '\n' {
			line = append(line, b[0])
		}
		if err != nil || n > 0 && b[0] == '\n' {
			return string(line), err != nil
		}
	}
}
