package commands

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestSetsModes(t *testing.T) {
	for text, want := range map[string]bool{
		"plain é 日 😀\n\t\r\a":          false,
		"\x1b[1;31mred\x1b[0m\r\x1b[K": false,
		"\x1b[2J":                      true,
		"\x1b[":                        true,
		"\x1b]0;title\a":               true,
		"\x0e":                         true,
		"\u009b2J":                     true,
		"\x9b2J":                       true,
	} {
		if got := setsModes([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestScreenIsTaken holds that nothing is written while a question has the screen, and that a question that is taken
// back while it waits for its turn leaves it.
func TestScreenIsTaken(t *testing.T) {
	s := newScreen()
	if err := s.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	go func() { _, _ = s.over(w).Write([]byte("x")) }() // blocked until the release, then until the read
	gone, cancel := context.WithCancelCause(t.Context())
	why := errors.New("taken back")
	cancel(why)
	if err := s.take(gone); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	select {
	case <-s.lock:
		t.Error("the screen is free while it is taken")
	default:
	}
	s.release()
	if n, err := r.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// TestMessagesAreLegible holds that a terminal shows what codemode says behind a sequence that a program has left open.
func TestMessagesAreLegible(t *testing.T) {
	var shown strings.Builder
	s := newScreen()
	out := s.over(&shown)
	u := &ui{out: out, live: true}
	for _, c := range []struct{ printed, want string }{
		{"\x1b[1mbold\x1b[0m\n", ""},
		{"nothing was done\x1bP", endOfSequence + softReset},
		{"", ""}, // which it was told before
		{"\x1b[8m\x1b]11;#000\a", endOfSequence + softReset},
	} {
		shown.Reset()
		_, _ = io.WriteString(out, c.printed)
		u.note("note", "one")
		if got := shown.String(); got != c.printed+c.want+"codemode: note: one\n" {
			t.Errorf("behind %q: %q", c.printed, got)
		}
	}
	shown.Reset()
	u.live = false
	_, _ = io.WriteString(out, "\x1bP")
	u.raw("text\n")
	if got := shown.String(); got != "\x1bPtext\n" {
		t.Errorf("no terminal: %q", got)
	}
}

// TestFreshEndsColoursLast holds that no colour is left of those that the end of the alternate screen brings back.
func TestFreshEndsColoursLast(t *testing.T) {
	for _, moded := range []bool{false, true} {
		s := newScreen()
		s.moded = moded
		shown := s.fresh(24)
		if strings.LastIndex(shown, "\x1b[0m") < strings.LastIndex(shown, "\x1b[?1049l") {
			t.Errorf("%q", shown)
		}
	}
}
