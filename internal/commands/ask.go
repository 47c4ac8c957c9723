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

	"golang.org/x/term"
)

// terminal is where a person is asked, whatever a program's streams are connected to.
type terminal struct {
	typing  sync.Mutex // held while what is typed is an answer, and not the program's input
	screen  *screen
	in, out *os.File
}

// openTerminal returns nil where nobody sits: neither standard input nor standard error is a terminal, so whoever
// started this does not watch it.
func openTerminal(env Env, s *screen) *terminal {
	if !isTerminal(env.Stdin) && !isTerminal(env.Stderr) {
		return nil
	}
	in, out, err := openConsole()
	if err != nil {
		return nil
	}
	return &terminal{screen: s, in: in, out: out}
}

func (t *terminal) close() {
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
	err = t.put(ctx, text, func(word string) error {
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
	if q.Looks != "" {
		verb = "look up"
	}
	err = t.put(ctx, "the program "+strings.Join(lines, "\n"), func(word string) error {
		t.say(fmt.Sprintf("codemode: %s %s?\nType %s to allow it, or no: ", verb, oneLine(q.Added()), word))
		text, err := typedLine(ctx, t.in)
		if err == nil && text == word {
			answer = bridge.Once
		}
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(t.out)
			err = nil
		}
		return err
	})
	return answer, err
}

// put shows a question where nothing else is shown before it is answered, and what was typed before is no answer. The
// word is one that no program knows.
func (t *terminal) put(ctx context.Context, text string, answered func(word string) error) error {
	t.typing.Lock()
	defer t.typing.Unlock()
	if err := t.screen.take(ctx); err != nil {
		return err
	}
	defer t.screen.release()
	_, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil {
		rows = 100
	}
	fmt.Fprint(t.out, t.screen.fresh(rows))
	t.say("codemode: question: " + text + "\n")
	if err := discardTyped(t.in, t.out); err != nil {
		return fmt.Errorf("the user is not asked: what was typed before cannot be discarded: %w", err)
	}
	return answered(words[rand.IntN(len(words))])
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
		"cactus candle canyon carrot castle cedar cherry clover cobalt copper coral cotton desert dragon eagle ember falcon " +
		"feather fennel forest garden ginger harbor hazel honey island jungle kettle lantern lemon maple marble meadow mirror " +
		"nectar olive orchid pepper pillow planet quartz raven ribbon river saddle silver spruce tulip velvet walnut willow",
)

// maxWrong is how often an answer may be none.
const maxWrong = 3

// answer reads what is typed. The name stands beside the word, at the end of what may be longer than the screen.
func (t *terminal) answer(ctx context.Context, name, word string) (bridge.Answer, error) {
	t.say(fmt.Sprintf(
		"codemode: call %s?\nType %s to allow it, \"all %s\" for all calls of this tool, or no: ", name, word, word,
	))
	for range maxWrong {
		text, err := typedLine(ctx, t.in)
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
