package bridge

import (
	"context"
	"sync"
)

// workers do the work for a guest's requests in goroutines: so many side by side, and what comes beyond in its order. A
// request that waits has no goroutine, whose stack would grow, and be looked through by each garbage collection.
type workers struct {
	most  int
	work  *sync.WaitGroup
	next  chan func()   // to the spare, a goroutine that has done its work and waits for more
	spare chan struct{} // a semaphore of one: its holder is that

	mu      sync.Mutex
	busy    int
	waiting []func()
}

func newWorkers(most int, work *sync.WaitGroup) *workers {
	return &workers{most: most, work: work, next: make(chan func()), spare: make(chan struct{}, 1)}
}

// submit has work done by a goroutine. What is begun or waits is done to its end, also when ctx is over; a spare is not
// kept then.
func (w *workers) submit(ctx context.Context, work func()) {
	w.mu.Lock()
	if w.busy == w.most {
		w.waiting = append(w.waiting, work)
		w.mu.Unlock()
		return
	}
	w.busy++
	w.mu.Unlock()
	select {
	case w.next <- work: // a new goroutine would have to grow its stack to the depth of a call
	default:
		w.work.Go(func() { w.goOn(ctx, work) })
	}
}

// goOn does the work, and what comes next as long as there is some, or as this goroutine is the spare.
func (w *workers) goOn(ctx context.Context, work func()) {
	for {
		work()
		if work = w.another(); work != nil {
			continue
		}
		select {
		case w.spare <- struct{}{}:
		default:
			return
		}
		select {
		case work = <-w.next:
			<-w.spare
		case <-ctx.Done():
			return
		}
	}
}

// another is the work that has waited longest. Where there is none, whoever asks is not busy any more.
func (w *workers) another() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		w.waiting = nil
		w.busy--
		return nil
	}
	work := w.waiting[0]
	w.waiting[0] = nil
	w.waiting = w.waiting[1:]
	return work
}

// full says whether what comes now would wait.
func (w *workers) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy == w.most
}
