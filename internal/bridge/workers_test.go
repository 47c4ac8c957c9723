package bridge

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
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
