package bridge

import (
	"context"
	"sync"
)

// workers read what a guest asks for and do it, in goroutines: one reads, so many work side by side, and what comes
// beyond is done in its order. A request that waits has no goroutine, whose stack would grow, and be looked through by
// each garbage collection. One that comes alone is done by who has read it.
type workers struct {
	most  int // with the one that reads, as busy is
	work  *sync.WaitGroup
	next  chan func()   // to the spare, a goroutine that has done its work and waits for more
	spare chan struct{} // a semaphore of one: its holder is that

	mu      sync.Mutex
	busy    int
	waiting []func()
}

func newWorkers(most int, work *sync.WaitGroup) *workers {
	return &workers{most: 1 + most, busy: 1, work: work, next: make(chan func()), spare: make(chan struct{}, 1)}
}

// begin has a goroutine read. It is called once.
func (w *workers) begin(ctx context.Context, read func()) { w.work.Go(func() { w.goOn(ctx, read) }) }

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

// readOn has the spare read, if nothing is under way and there is one. Its caller, who has read until now, does what it
// read by itself then, and returns.
func (w *workers) readOn(read func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy > 1 {
		return false
	}
	select {
	case w.next <- read:
		w.busy++
		return true
	default:
		return false
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
