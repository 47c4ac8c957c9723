package commands

import (
	"context"
	"errors"
	"io"
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
