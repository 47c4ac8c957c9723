package bridge

import (
	"context"
	"errors"
	"testing"
)

func TestBacklog(t *testing.T) {
	begin := func(b *backlog) *task {
		t.Helper()
		task, err := b.begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	enough := errors.New("enough")
	ended, end := context.WithCancelCause(t.Context())
	end(enough)

	t.Run("cancelled before", func(t *testing.T) {
		if _, err := newBacklog(&slowReaders{}).begin(ended); !errors.Is(err, enough) {
			t.Errorf("it was begun: %v", err)
		}
	})
	t.Run("slowReaders", func(t *testing.T) {
		const guests = 16
		c, all := &slowReaders{}, 0
		var tasks []*task
		for range guests {
			b := newBacklog(c)
			for {
				one := &task{backlog: b}
				if one.reserve() != nil {
					break
				}
				if err := one.hold(maxExpected); err != nil {
					t.Fatal(err)
				}
				all += maxExpected
				tasks = append(tasks, one)
			}
		}
		if most := 4 * softBacklog; all > most || all < softBacklog+guests*maxExpected {
			t.Errorf("guests that read nothing have %d MB of answers, at most %d", all>>20, most>>20)
		}
		for _, one := range tasks {
			one.end()
		}
		if left := c.guests.Load(); left != 0 {
			t.Errorf("%d guests are counted when all answers were read", left)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		b := newBacklog(&slowReaders{})
		first, late := begin(b), begin(b)
		if err := first.hold(softBacklog); err != nil {
			t.Fatal(err)
		}
		if _, err := b.begin(ended); !errors.Is(err, enough) {
			t.Errorf("with no room, and cancelled: %v", err)
		}
		if err := late.hold(hardBacklog - softBacklog + 1); err == nil {
			t.Error("more than fits is held")
		}
		if err := late.hold(1); err != nil {
			t.Errorf("the answer that says so: %v", err)
		}
		next := make(chan *task)
		go func() { next <- begin(b) }()
		first.end() // makes room
		(<-next).end()
		late.end()
		if b.bytes != 0 || b.held != 0 {
			t.Errorf("in the end %d bytes are accounted for, %d held", b.bytes, b.held)
		}
	})
	t.Run("one alone", func(t *testing.T) {
		b := newBacklog(&slowReaders{})
		task := begin(b)
		if err := task.hold(hardBacklog + 1); err != nil {
			t.Error(err)
		}
		task.end()
		begin(b).end() // what is expected now does not shut out the next
	})
	t.Run("hanging after large answers", func(t *testing.T) {
		b := newBacklog(&slowReaders{})
		task := begin(b)
		if err := task.hold(64 << 20); err != nil {
			t.Error(err)
		}
		task.end()
		for range softBacklog / maxExpected {
			defer begin(b).end()
		}
	})
}
