package commands

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"codemode/internal/lazyregexp"
)

// screen is what a program's output, codemode's messages and codemode's questions share. While a question stands
// nothing else is written, so a program that prints waits.
type screen struct {
	lock  chan struct{} // a semaphore of one: its holder writes
	outs  []io.Writer
	moded bool // modes of a terminal may have been set; who has the lock may look
	acted bool // the same since codemode has written a message
}

func newScreen(outs ...io.Writer) *screen {
	s := &screen{lock: make(chan struct{}, 1), outs: outs}
	s.lock <- struct{}{}
	return s
}

// shareScreen has a program's output and codemode's messages take turns.
func (u *ui) shareScreen(env *Env) *screen {
	s := newScreen(env.Stdout, env.Stderr)
	env.Stdout, env.Stderr = s.over(env.Stdout), s.over(env.Stderr)
	u.out = env.Stderr
	return s
}

// over writes to one of the screen's streams once it has the lock, and that of the terminal that it is.
func (s *screen) over(to io.Writer) io.Writer { return &lockedWriter{s, to, lockTerminal(to)} }

type lockedWriter struct {
	screen *screen
	io.Writer
	terminal *terminalLock
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	<-w.screen.lock
	defer w.screen.release()
	if setsModes(p) {
		w.terminal.setsModes()
		w.screen.moded, w.screen.acted = true, true
	}
	return w.show(p)
}

// show writes while no question of another process stands on the terminal.
func (w *lockedWriter) show(p []byte) (int, error) {
	w.terminal.begin()
	defer w.terminal.end()
	return w.Writer.Write(p)
}

// legible has a terminal show what codemode says next, also where the program has left a sequence or a string open, or
// drawn in what cannot be read.
func (w *lockedWriter) legible() {
	<-w.screen.lock
	defer w.screen.release()
	if w.screen.acted {
		_, _ = w.show([]byte(endOfSequence + softReset))
		w.screen.acted = false
	}
}

// harmless are colours, and what takes a progress line away.
var harmless = lazyregexp.New(`\x1b\[[0-9;]*[mK]`)

// setsModes reports whether a terminal may do more with an output than show it.
func setsModes(p []byte) bool {
	acts := func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune("\a\b\t\n\r", r) || r == utf8.RuneError
	}
	return bytes.ContainsFunc(p, acts) && bytes.ContainsFunc(harmless().ReplaceAll(p, nil), acts)
}

// drainPatience is how long the reader of a pipe may take to read what a program has printed.
const drainPatience = 2 * time.Second

var errUndrained = errors.New(
	"the user is not asked while what the program has printed is still in a pipe: it could be shown over the question",
)

// take waits for the lock, and until the readers of the streams have what was written to them.
func (s *screen) take(ctx context.Context) error {
	select {
	case <-s.lock:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	patience := time.After(drainPatience)
	for _, out := range s.outs {
		for waited := false; unreadBytes(out) > 0 || waited; {
			waited = unreadBytes(out) > 0 // once empty, its reader may need a moment to show it
			select {
			case <-time.After(50 * time.Millisecond):
			case <-patience:
				s.release()
				return errUndrained
			case <-ctx.Done():
				s.release()
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// taken says whether another goroutine writes, or asks.
func (s *screen) taken() bool { return len(s.lock) == 0 }

func (s *screen) release() { s.lock <- struct{}{} }

// Sequences of xterm's "Control Sequences" (2026-03); a terminal ignores those that it does not know.
const (
	endOfSequence = "\x18\x1b\\" + // and of a string that was begun
		"\x1b<\x1b\x03" + // of VT52's and Tektronix's mode
		"\x1b[4i\x1b[?5i\x1b[?4i" + // of printing in place of showing
		"\x1b[?2026l" // of an update that is shown as a whole
	softReset = "\x1b[!p\x1b%G\x1b(B\x1b)B\x0f\x1b[0m" + // and UTF-8, ASCII, no colours,
		"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\\x1b]117\x1b\\\x1b]119\x1b\\" // the palette
)

// fresh is what gives a terminal of so many rows an empty screen that shows what is written, whatever a program has
// done to it, and keeps what was there where one can scroll back to it.
func (s *screen) fresh(rows int) string {
	modes := "\x1b[?1049l\x1b[?1047l\x1b[?47l" + // not the alternate screen; its end may bring colours back,
		softReset + // which therefore follow
		"\x1b[?69l\x1b[r\x1b[?6l\x1b[4l\x1b[20l\x1b[2l\x1b[?7h\x1b[?5l\x1b[?25h" + // margins, origin, insertion, wrapping, cursor
		"\x1b[?1;9;1000;1001;1002;1003;1004;1005;1006;1015;1016;2004l" + // the mouse's, the focus's and pasting's reports
		"\x1b[>4m\x1b[=0u\x1b>" + // keys as they are
		"\x1b_Ga=d\x1b\\" // no pictures
	scrolled := "\x1b[9999;1H" + strings.Repeat("\r\n", rows)
	if s.moded {
		scrolled += "\x1bc" + modes // what is not among the modes: some terminals forget what can be scrolled back to
	}
	return endOfSequence + modes + scrolled + "\x1b[H\x1b[J"
}
