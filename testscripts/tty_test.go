package testscripts

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/creack/pty"
)

// typing is what tty types once it has seen something.
type typing struct{ seen, text string }

// ttyTime is how long a command may take on a terminal.
const ttyTime = 3 * time.Minute

// askedFor is the word that codemode wants to be typed.
var askedFor = regexp.MustCompile(`Type ([a-z]+) to (?:allow|fill|say)`)

// tty runs a command on a terminal of its own, 24 by 80 or of so many -columns, prints all it shows, and ends as it
// does. Each -when SEEN=TEXT types TEXT after SEEN has appeared, one after the other; ^C, ^D, ^P, ^Z and ^\ are those keys,
// and WORD is the word that was asked for last.
func tty(args []string) int {
	var script []typing
	fs := flag.NewFlagSet("tty", flag.ContinueOnError)
	fs.Func("when", "`SEEN=TEXT` to type", func(s string) error {
		seen, text, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("want SEEN=TEXT")
		}
		script = append(
			script,
			typing{
				seen,
				strings.NewReplacer("^C", "\x03", "^D", "\x04", "^P", "\x10", "^Z", "\x1a", `^\`, "\x1c", `\n`, "\n").Replace(text),
			},
		)
		return nil
	})
	columns := fs.Uint("columns", 80, "`N` of the terminal")
	if fs.Parse(args) != nil || fs.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: tty [-when SEEN=TEXT]... COMMAND [ARG...]")
		return 2
	}
	cmd := exec.Command(fs.Arg(0), fs.Args()[1:]...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: uint16(*columns)})
	if err != nil {
		fmt.Fprintln(os.Stderr, "tty:", err)
		return 125
	}
	defer terminal.Close()
	// A question that no text answers would hold up all scripts.
	defer time.AfterFunc(ttyTime, func() { _ = cmd.Process.Kill() }).Stop()
	converse(terminal, script)
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "tty:", err)
		return 125
	}
	return cmd.ProcessState.ExitCode()
}

// converse copies what the terminal shows until nobody has it open, and types what the script says.
func converse(terminal *os.File, script []typing) {
	var shown strings.Builder
	from := 0 // what of shown the script has not answered yet
	buf := make([]byte, 4096)
	for {
		n, err := terminal.Read(buf)
		_, _ = os.Stdout.Write(buf[:n])
		shown.Write(buf[:n])
		for len(script) > 0 {
			at := strings.Index(shown.String()[from:], script[0].seen)
			if at < 0 {
				break
			}
			from += at + len(script[0].seen)
			word := ""
			if asked := askedFor.FindAllStringSubmatch(shown.String()[:from], -1); asked != nil {
				word = asked[len(asked)-1][1]
			}
			_, _ = io.WriteString(terminal, strings.ReplaceAll(script[0].text, "WORD", word))
			script = script[1:]
		}
		if err != nil {
			return // EIO: the last process has closed it
		}
	}
}
