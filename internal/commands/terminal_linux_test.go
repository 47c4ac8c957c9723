package commands

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"
)

// TestTerminalLock holds that nobody is asked while a write never ends, and that output goes on where somebody has the
// lock for longer than any question.
func TestTerminalLock(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer master.Close()
	defer tty.Close()
	one, other := lockTerminal(tty), lockTerminal(tty) // as of two processes
	if one == nil || other == nil {
		t.Fatal("a terminal that cannot be locked")
	}
	defer one.close()
	defer other.close()
	synctest.Test(t, func(t *testing.T) {
		one.begin()
		if err := other.take(t.Context()); !errors.Is(err, errUnfinished) {
			t.Errorf("a write that does not end: %v", err)
		}
		one.end()
		if err := other.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		second, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := one.take(second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second question: %v", err)
		}
		began := time.Now()
		one.begin()
		if waited := time.Since(began); waited < standTime || waited > standTime+2*time.Minute {
			t.Errorf("output has waited for %v", waited)
		}
		one.begin() // once is enough
		if waited := time.Since(began); waited > standTime+2*time.Minute {
			t.Errorf("output has waited again: %v", waited)
		}
		other.release()
	})
}

func TestNoTerminalIsNotLocked(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := lockTerminal(f)
	l.begin()
	l.end()
	_, release, err := l.hold(t.Context())
	if l != nil || err != nil {
		t.Errorf("%v, %v", l, err)
	}
	release()
}

func BenchmarkTerminalLock(b *testing.B) {
	master, tty, err := pty.Open()
	if err != nil {
		b.Skip(err)
	}
	defer master.Close()
	defer tty.Close()
	l := lockTerminal(tty)
	defer l.close()
	for b.Loop() {
		l.begin()
		l.end()
	}
}
