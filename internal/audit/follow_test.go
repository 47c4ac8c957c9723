package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFollow holds that a reader beside two writers sees every line once and in order, through many rotations.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	logs := []*Log{open(t, Options{dir, 2 << 10, 1000}), open(t, Options{dir, 2 << 10, 1000})}
	const lines = 200
	add(t, logs[0], Record{Event: Called, Call: 1, Run: "r"})
	next, over := 1, errors.New("enough")
	err := Follow(t.Context(), dir, func(r Record, _ []byte) {
		if r.Call != next {
			t.Errorf("line %d comes where %d should", r.Call, next)
		}
		next = r.Call + 1
	}, func(int) error { // the reader is at the end: several files are begun before it looks again
		for n := next; n < next+20; n++ {
			add(t, logs[n%2], Record{Event: Called, Call: n, Run: "r", Tool: strings.Repeat("x", 300)})
		}
		if next > lines {
			return over
		}
		return nil
	})
	if !errors.Is(err, over) {
		t.Error(err)
	}
	if names, _ := files(dir); len(names) < 10 {
		t.Errorf("no rotation was met: %v", names)
	}
}

// TestFollowRenames holds that a file put away while the reader looks for it is not taken for one that is gone, which
// would have every line told again.
func TestFollowRenames(t *testing.T) {
	dir := t.TempDir()
	log := open(t, Options{dir, 2 << 10, 5000})
	const lines = 600
	next := 1
	f := &follower{dir: dir, lines: splitter{each: func(r Record, _ []byte) {
		if r.Call != next {
			t.Errorf("line %d comes where %d should", r.Call, next)
		}
		next = r.Call + 1
	}}}
	defer f.close()
	written := make(chan struct{})
	go func() {
		defer close(written)
		for n := 1; n <= lines; n++ {
			add(t, log, Record{Event: Called, Call: n, Run: "r", Tool: strings.Repeat("x", 900)})
		}
	}()
	for done := false; !done && !t.Failed(); {
		select {
		case <-written:
			done = true
		default:
		}
		if err := f.catchUp(); err != nil {
			t.Fatal(err)
		}
	}
	<-written
	if !t.Failed() && next != lines+1 {
		t.Errorf("%d lines are told of %d", next-1, lines)
	}
}

// TestFollowHalfALine holds that a line counts when it is whole.
func TestFollowHalfALine(t *testing.T) {
	dir := t.TempDir()
	pieces := []string{"", `{"event":"ca`, `ll","run":"a"}` + "\n" + `{"ev`, `ent":"call","run":"b"}` + "\nnonsense\n"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var runs, at string
	skipped := 0
	err := Follow(ctx, dir, func(r Record, _ []byte) { runs += r.Run }, func(n int) error {
		skipped = n
		at += fmt.Sprint(len(runs))
		if len(pieces) == 0 {
			cancel()
			return nil
		}
		f, err := os.OpenFile(filepath.Join(dir, current), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(pieces[0])
			f.Close()
		}
		pieces = pieces[1:]
		return err
	})
	if err != nil || runs != "ab" || at != "00012" || skipped != 1 {
		t.Errorf("%v: %q seen as %s, %d skipped", err, runs, at, skipped)
	}
}
