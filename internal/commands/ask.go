package commands

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"codemode/internal/bridge"
)

// terminal is where a person is asked, whatever a program's streams are connected to.
type terminal struct {
	turn    sync.Mutex // held while what is typed is an answer, and not the program's input
	in, out *os.File
	lines   *bufio.Reader
}

// openTerminal returns nil where nobody sits: neither standard input nor standard error is a terminal, so whoever
// started this does not watch it.
func openTerminal(env Env) *terminal {
	if !isTerminal(env.Stdin) && !isTerminal(env.Stderr) {
		return nil
	}
	in, out, err := openConsole()
	if err != nil {
		return nil
	}
	return &terminal{in: in, out: out, lines: bufio.NewReader(in)}
}

func (t *terminal) close() {
	_ = t.in.Close()
	if t.out != t.in {
		_ = t.out.Close()
	}
}

// ask asks about a call. A run is a session here, so there is one answer for all later calls.
func (t *terminal) ask(ctx context.Context, ui *ui, q bridge.Question) (bridge.Answer, error) {
	t.turn.Lock()
	defer t.turn.Unlock()
	ui.question(t.out, fmt.Sprintf("call %s.%s? you are asked because %s; it would be called with %s", q.Server, q.Tool, q.Why, q.Arguments),
		"[y]es, [a]ll calls of this tool, or [N]o?")
	for {
		text, err := t.line(ctx)
		switch text = strings.ToLower(strings.TrimSpace(text)); {
		case err != nil:
			return bridge.No, err
		case text == "y" || text == "yes":
			return bridge.Once, nil
		case text == "a" || text == "all":
			return bridge.ForSession, nil
		case text == "" || text == "n" || text == "no":
			return bridge.No, nil
		}
		fmt.Fprintf(t.out, "%q is no answer: y, a or n? ", text)
	}
}

// line waits for what is typed. Ctrl-D is an empty line.
func (t *terminal) line(ctx context.Context) (string, error) {
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() { // ends with the answer; where a console cannot be told to give up, with the process
		text, err := t.lines.ReadString('\n')
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		if l.err != nil {
			fmt.Fprintln(t.out)
			return "", nil
		}
		return l.text, nil
	case <-ctx.Done():
		fmt.Fprintln(t.out)
		return "", context.Cause(ctx)
	}
}
