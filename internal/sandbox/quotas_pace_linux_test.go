package sandbox

import (
	"errors"
	"os/exec"
	"testing"
	"time"

	"codemode/internal/sandbox/watchdog"
)

// TestUntilNext: counting what a guest has takes a quarter of a processor, however much that is, and a guest is never
// left alone for long.
func TestUntilNext(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		200 * time.Microsecond: 100 * time.Millisecond,
		80 * time.Millisecond:  240 * time.Millisecond,
		9 * time.Second:        500 * time.Millisecond,
	} {
		if got := untilNext(took); got != want {
			t.Errorf("after %v it is %v, want %v", took, got, want)
		}
	}
}

// TestRests: a guest is left alone as long as nothing of it has run.
func TestRests(t *testing.T) {
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	out, err2 := cat.StdoutPipe()
	if err := errors.Join(err, err2, cat.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = cat.Wait() }()
	q := newQuotas(0)
	rests := func() bool { return q.rests(watchdog.Members(cat.Process.Pid)) }
	for deadline := time.Now().Add(10 * time.Second); !rests(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it waits for input, and is not taken to rest")
		}
	}
	if !rests() {
		t.Error("it has not run, and is not taken to rest")
	}
	if _, err := in.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if rests() {
		t.Error("it has run, and is taken to rest")
	}
}
