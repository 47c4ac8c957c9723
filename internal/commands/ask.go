package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"

	"codemode/internal/bridge"
	"codemode/internal/inquiry"

	"golang.org/x/term"
)

// terminal is where a person is asked, whatever a program's streams are connected to.
type terminal struct {
	typing  sync.Mutex // held while what is typed is an answer, and not the program's input
	screen  *screen
	in, out *os.File
	lock    *terminalLock
}

// openTerminal opens the terminal that questions are put on. It returns nil where neither standard input nor standard
// error is one: then no person watches.
func openTerminal(env Env, s *screen) *terminal {
	if !isTerminal(env.Stdin) && !isTerminal(env.Stderr) {
		return nil
	}
	in, out, err := openConsole()
	if err != nil {
		return nil
	}
	return &terminal{screen: s, in: in, out: out, lock: lockTerminal(out)}
}

// Lock has what is typed be the program's input: while no question stands, neither here nor in another process.
func (t *terminal) Lock() {
	t.typing.Lock()
	t.lock.waitUnasked()
}

// Unlock ends Lock.
func (t *terminal) Unlock() { t.typing.Unlock() }

// answers has req ask here what it asks of its user.
func (t *terminal) answers(req *bridge.Request) {
	req.Ask = t.ask
	req.Respond, req.Can = inquiry.Person(t.fill).Respond, inquiry.PersonCan()
}

func (t *terminal) close() {
	t.lock.close()
	_ = t.in.Close()
	if t.out != t.in {
		_ = t.out.Close()
	}
}

// ask asks about a call. A run is a session here, so there is one answer for all later calls. A program can show what
// looks like a question before, and have the terminal type something; but not know which word is asked for.
func (t *terminal) ask(ctx context.Context, q bridge.Question) (answer bridge.Answer, err error) {
	if q.Adding() {
		return t.askAdding(ctx, q)
	}
	text := fmt.Sprintf("the program would make a call with %s\nYou are asked because %s.",
		oneLine(q.Arguments), oneLine(q.Why))
	err = t.put(ctx, text, func(ctx context.Context, word string) error {
		answer, err = t.answer(ctx, oneLine(q.Server+"."+q.Tool), word)
		return err
	})
	return answer, err
}

// askAdding asks whether something is to be added.
func (t *terminal) askAdding(ctx context.Context, q bridge.Question) (answer bridge.Answer, err error) {
	lines := strings.Split(q.Addition(), "\n")
	for i := range lines {
		lines[i] = oneLine(lines[i])
	}
	verb := "add"
	if q.LookupAt != "" {
		verb = "look up"
	}
	yes, err := t.agreed(ctx, "the program "+strings.Join(lines, "\n"), verb+" "+oneLine(q.Added()))
	if yes {
		answer = bridge.Once
	}
	return answer, err
}

// agreed asks whether something is to be done; all but the word is a no.
func (t *terminal) agreed(ctx context.Context, text, what string) (yes bool, err error) {
	err = t.put(ctx, text, func(ctx context.Context, word string) error {
		t.say(fmt.Sprintf("codemode: %s?\nType %s to allow it, or no: ", what, word))
		typed, err := t.typedLine(ctx)
		yes = err == nil && typed == word
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(t.out)
			err = nil
		}
		return err
	})
	return yes, err
}

// answering reads the answer to a question, to which the word is a yes.
type answering func(ctx context.Context, word string) error

// put shows a question where nothing else is shown before it is answered, and what was typed before is no answer.
func (t *terminal) put(ctx context.Context, text string, answered answering) error {
	t.typing.Lock()
	defer t.typing.Unlock()
	if err := t.screen.take(ctx); err != nil {
		return err
	}
	defer t.screen.release()
	for {
		if err := t.putOnce(ctx, text, answered); !t.lock.yields(err) {
			return err
		}
	}
}

// putOnce is put until the terminal's lock must be left to others. The word is one that no program knows.
func (t *terminal) putOnce(ctx context.Context, text string, answered answering) error {
	ctx, release, err := t.lock.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	t.screen.moded = t.screen.moded || t.lock.moded()
	_, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil {
		rows = 100
	}
	fmt.Fprint(t.out, t.screen.fresh(rows))
	t.say("codemode: question: " + text + "\n")
	if err := discardTyped(t.in, t.out); err != nil {
		return fmt.Errorf("the user is not asked: what was typed before cannot be discarded: %w", err)
	}
	return answered(ctx, words[rand.IntN(len(words))])
}

// Why a question is put again: it leaves the terminal to others.
var (
	errStopped = errors.New("stopped at a question")
	errStood   = errors.New("the question has stood for long")
)

// typedLine waits for a line. Its end without one is io.EOF.
func (t *terminal) typedLine(ctx context.Context) (string, error) {
	line, err := typedLine(ctx, t.in)
	if err == nil && t.lock.stopped(line) {
		return "", errStopped
	}
	return line, err
}

// say writes a text, broken between words.
func (t *terminal) say(text string) {
	columns, _, err := term.GetSize(int(t.out.Fd()))
	if err != nil {
		columns = 0
	}
	fmt.Fprint(t.out, folded(text, columns))
}

// words are those that a yes is said with.
var words = strings.Fields(
	"acorn amber anchor apple arrow badge bamboo barrel basket beacon blossom breeze bridge butter " +
		"cactus candle canyon carrot castle cedar cherry clover cobalt copper coral cotton desert dragon eagle ember " +
		"falcon feather fennel forest garden ginger harbor hazel honey island jungle kettle lantern lemon maple marble " +
		"meadow mirror nectar olive orchid pepper pillow planet quartz raven ribbon river saddle silver spruce tulip " +
		"velvet walnut willow",
)

// maxWrong is how often an answer may be none.
const maxWrong = 3

// answer reads what is typed. The name stands beside the word, at the end of what may be longer than the screen.
func (t *terminal) answer(ctx context.Context, name, word string) (bridge.Answer, error) {
	t.say(fmt.Sprintf(
		"codemode: call %s?\nType %s to allow it, \"all %s\" for all calls of this tool, or no: ", name, word, word,
	))
	for range maxWrong {
		text, err := t.typedLine(ctx)
		switch {
		case err != nil: // Ctrl-D as well
			fmt.Fprintln(t.out)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return bridge.No, err
		case text == word:
			return bridge.Once, nil
		case text == "all "+word:
			return bridge.ForSession, nil
		case text == "", text == "n", text == "no":
			return bridge.No, nil
		}
		t.say(fmt.Sprintf("%s is no answer to call %s: %s, all %s or no? ", oneLine(quote(text)), name, word, word))
	}
	fmt.Fprintln(t.out)
	return bridge.No, nil
}
