package fair

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// join has turns of several keys wait behind one that is held, and returns the order in which they come.
func join(t *testing.T, q *Queue, keys ...string) (order string) {
	t.Helper()
	first := q.Join("holder", 1)
	if err := first.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var turns []*Turn
	for _, key := range keys {
		turns = append(turns, q.Join(key, 1))
	}
	first.Leave()
	for range turns {
		i := slices.IndexFunc(turns, func(t *Turn) bool { return !t.over && came(t) })
		if i < 0 {
			t.Fatalf("after %q nobody has the turn", order)
		}
		order += keys[i]
		turns[i].Leave()
	}
	return order
}

func came(t *Turn) bool {
	select {
	case <-t.came:
		return true
	default:
		return false
	}
}

func TestInTurnsByKey(t *testing.T) {
	if got := join(t, New(1, 0), "a", "a", "a", "a", "b", "b", "c"); got != "abcabaa" {
		t.Errorf("turns came as %s", got)
	}
	if got := join(t, New(1, 0), strings.Split(strings.Repeat("a", 50)+"b", "")...); !strings.HasPrefix(got, "ab") {
		t.Errorf("who came behind a flood waited: %s", got)
	}
}

// TestShares is about several turns at once: a key has all of the room alone, and its share beside another.
func TestShares(t *testing.T) {
	for _, tt := range []struct{ room, share, alone, beside int }{
		{2, 0, 2, 1},
		{1, 0, 1, 1},
		{8, 0, 8, 4},
		{256, 16, 256, 16},
	} {
		q := New(tt.room, tt.share)
		var flood []*Turn
		for range 2 * tt.room {
			flood = append(flood, q.Join("flood", 1))
		}
		if held := q.lines["flood"].held; held != tt.alone {
			t.Errorf("%+v: alone it holds %d", tt, held)
		}
		victim := q.Join("victim", 1)
		for _, f := range flood[:tt.alone] {
			f.Leave()
		}
		if !came(victim) {
			t.Fatalf("%+v: the victim has no turn when all that were before it have ended", tt)
		}
		victim.Leave()
		for held := q.lines["flood"].held; held > tt.beside; held = q.lines["flood"].held {
			t.Fatalf("%+v: beside another it holds %d", tt, held)
		}
		if again := q.Join("victim", 1); tt.room > 1 && !came(again) {
			t.Errorf("%+v: the victim finds no room beside the flood", tt)
		}
	}
}

func TestShareAloneAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(4, 0)
		q.Join("other", 1).Leave()
		var turns []*Turn
		for range 4 {
			turns = append(turns, q.Join("key", 1))
		}
		if !q.Crowded("key") || came(turns[2]) {
			t.Error("it holds more than its share")
		}
		<-time.After(lately)
		if q.Crowded("key") {
			t.Error("who is long gone still counts")
		}
		turns[0].Leave()
		if !came(turns[2]) || !came(turns[3]) {
			t.Error("alone again, it does not have all of the room")
		}
	})
}

func TestWeights(t *testing.T) {
	q := New(10, 4)
	heavy := q.Join("heavy", 50)
	if !came(heavy) {
		t.Fatal("what is too heavy for the room never has it")
	}
	other, next := q.Join("other", 1), q.Join("heavy", 50)
	if came(other) || came(next) {
		t.Error("there is room beside what fills it")
	}
	heavy.Leave()
	if !came(other) || came(next) {
		t.Error("the next turn was not the other's")
	}
	other.Leave()
	if !came(next) {
		t.Error("its turn did not come")
	}
}

func TestGivingUp(t *testing.T) {
	q := New(1, 0)
	leave, err := q.Enter(t.Context(), "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := q.Enter(ctx, "b", 1); !errors.Is(err, gone) {
		t.Errorf("it gave up with %v", err)
	}
	last := q.Join("c", 1)
	leave()
	leave() // does nothing
	if !came(last) || q.taken != 1 || len(q.wait) != 0 {
		t.Errorf("%d are taken, %d wait", q.taken, len(q.wait))
	}
}

// TestOneTurnOfEachOther is the promise: whatever others do, between joining and having its turn a key sees no other
// get more than one turn for each of its own that are before, and the room is never exceeded.
func TestOneTurnOfEachOther(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		room := 1 + random.IntN(4)
		q := New(room, random.IntN(3))
		type waiting struct {
			*Turn
			key    string
			before int            // of its own key
			seen   map[string]int // turns that others have had since
		}
		var all []*waiting
		var held []*waiting
		settle := func() {
			var come []*waiting
			all = slices.DeleteFunc(all, func(w *waiting) bool {
				if came(w.Turn) {
					come = append(come, w)
					return true
				}
				return false
			})
			held = append(held, come...)
			for _, c := range come {
				for _, w := range all {
					switch {
					case w.key != c.key:
						w.seen[c.key]++
					default:
						w.before--
						clear(w.seen)
					}
				}
			}
			for _, w := range all {
				if w.before > 0 || slices.ContainsFunc(held, func(h *waiting) bool { return h.key == w.key }) {
					clear(w.seen) // it waits for its own turns
				}
				for key, n := range w.seen {
					if n > 1 {
						t.Fatalf("seed %d: %s saw %s have %d turns", seed, w.key, key, n)
					}
				}
			}
			if q.taken > room {
				t.Fatalf("seed %d: %d of %d are taken", seed, q.taken, room)
			}
		}
		for range 300 {
			if random.IntN(3) > 0 || len(held) == 0 {
				key := fmt.Sprint(random.IntN(5))
				before := 0
				for _, w := range all {
					if w.key == key {
						before++
					}
				}
				all = append(all, &waiting{q.Join(key, 1), key, before, map[string]int{}})
			} else {
				i := random.IntN(len(held))
				h := held[i]
				held = slices.Delete(held, i, i+1)
				h.Leave()
			}
			settle()
		}
		for len(held) > 0 {
			h := held[0]
			held = held[1:]
			h.Leave()
			settle()
		}
		if len(all) > 0 || q.taken != 0 {
			t.Fatalf("seed %d: %d still wait, %d are taken", seed, len(all), q.taken)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	q := New(3, 0)
	var work sync.WaitGroup
	for i := range 20 {
		work.Go(func() {
			for range 200 {
				leave, err := q.Enter(t.Context(), fmt.Sprint(i%4), 1)
				if err != nil {
					t.Error(err)
					return
				}
				leave()
			}
		})
	}
	work.Wait()
	if q.taken != 0 || len(q.wait) != 0 {
		t.Errorf("%d are taken, %d wait", q.taken, len(q.wait))
	}
}
