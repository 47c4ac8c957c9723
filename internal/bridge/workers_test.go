package bridge

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWorkers holds that work is done side by side, but no more of it than may be, that the rest follows in its order,
// that one goroutine at most waits for more, and that it goes with the guest.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		w := newWorkers(3, &all)
		var mu sync.Mutex
		var begun []int
		done, release := 0, make(chan struct{})
		work := func(i int) func() {
			return func() {
				mu.Lock()
				begun = append(begun, i)
				mu.Unlock()
				<-release
				mu.Lock()
				done++
				mu.Unlock()
			}
		}
		for i := range 6 {
			w.submit(ctx, work(i))
			synctest.Wait()
		}
		if !slices.Equal(begun, []int{0, 1, 2}) || !w.full() {
			t.Errorf("of six, with room for three, there were begun %v", begun)
		}
		for range 6 {
			release <- struct{}{}
			synctest.Wait()
		}
		if !slices.Equal(begun, []int{0, 1, 2, 3, 4, 5}) || done != 6 || w.full() {
			t.Errorf("begun were %v, done %d of 6", begun, done)
		}
		for range 3 {
			began := false
			w.submit(ctx, func() { began = true })
			synctest.Wait()
			if !began {
				t.Fatal("the spare did nothing")
			}
		}
		w.submit(ctx, work(6)) // by the spare
		select {
		case w.next <- func() {}:
			t.Error("more than one goroutine waits for the next")
		default:
		}
		for i := range 4 {
			w.submit(ctx, work(7+i))
		}
		end()
		close(release)
		all.Wait() // which the bubble would call a deadlock
		if done != 11 {
			t.Errorf("%d of 11 were done when the guest has gone", done)
		}
	})
}

// TestReadOn holds that what comes alone is done by who has read it while the spare reads on, and that nobody reads in
// the place of one who works on something else.
func TestReadOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		w := newWorkers(3, &all)
		requests, release := make(chan func()), make(chan struct{})
		var byReader atomic.Int32
		var read func()
		read = func() {
			for work := range requests {
				if w.readOn(read) {
					byReader.Add(1)
					work()
					return
				}
				w.submit(ctx, work)
			}
		}
		ask := func(work func()) {
			requests <- work
			<-time.After(time.Second)
		}
		w.begin(ctx, read)
		short := func() { <-time.After(time.Millisecond) }
		ask(short) // whose goroutine is the spare then
		for range 3 {
			ask(short)
		}
		if byReader.Load() != 3 {
			t.Errorf("%d of three were done by who had read them", byReader.Load())
		}
		wait := func() { <-release }
		for range 3 {
			ask(wait)
		}
		if byReader.Load() != 4 || !w.full() {
			t.Errorf("beside another, %d were done by who had read them", byReader.Load()-4)
		}
		close(release)
		synctest.Wait()
		if w.full() || w.busy != 1 {
			t.Errorf("%d are busy when one reads", w.busy)
		}
		close(requests)
		end()
		all.Wait()
		if w.busy != 0 {
			t.Errorf("%d are busy at the end", w.busy)
		}
	})
}
