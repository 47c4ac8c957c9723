package commands

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"codemode/internal/bridge"
)

// interruption is what a user sees of a Ctrl-C: what is waited for, where that takes longer than a blink, and that the
// next one ends it.
type interruption struct {
	ui     *ui
	bridge *bridge.Bridge
	grace  time.Duration // that code has to stop

	mu     sync.Mutex
	since  time.Time // the first Ctrl-C; zero before it
	over   bool      // the code has stopped
	shown  *time.Timer
	closed bool

	writes *writes       // of the program's output, and of what is said here
	ended  chan struct{} // once nothing is waited for any more
}

func newInterruption(ui *ui, b *bridge.Bridge, grace time.Duration) *interruption {
	return &interruption{ui: ui, bridge: b, grace: grace, writes: &writes{}, ended: make(chan struct{})}
}

// watch has the first Ctrl-C interrupt the program, which may clean up, and the second end it and what it has started.
func (i *interruption) watch(cancel context.CancelCauseFunc) (stop func()) {
	by := &signalled{}
	unwatch := watchSignals(
		heeded(),
		func(s *signalled) {
			by = s
			cancel(s)
			go i.endUnread(s, i.grace+unreadGrace)
			i.begin()
		},
		func() {
			go i.endUnread(by, 0)
			i.bridge.Hurry()
			_ = i.bridge.Close()
		},
	)
	return func() { unwatch(); i.close() }
}

// endUnread ends the program, and with it what it has started, once something that it writes has been stuck for a
// while: whoever is to read that may not, and no system lets go of such a write.
func (i *interruption) endUnread(s *signalled, after time.Duration) {
	for next := time.NewTimer(after); ; next.Reset(unreadGrace / 10) {
		select {
		case <-i.ended:
			return
		case <-next.C:
			if i.writes.stuck() {
				os.Exit(exitSignal + int(s.number))
			}
		}
	}
}

// writes are those under way that may be stuck; of a nil one nothing is known.
type writes struct {
	mu    sync.Mutex
	n     int
	since time.Time // the last began with no other under way, or one ended
}

// begin is that a write begins, which the caller ends.
func (w *writes) begin() (end func()) {
	if w == nil {
		return func() {}
	}
	w.add(1)
	return func() { w.add(-1) }
}

func (w *writes) add(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n == 0 || n < 0 {
		w.since = time.Now()
	}
	w.n += n
}

// stuck says whether one has been under way for a while, and none has ended.
func (w *writes) stuck() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n > 0 && time.Since(w.since) > unreadGrace
}

// begin is the first Ctrl-C.
func (i *interruption) begin() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.since = time.Now()
	i.arm()
}

// stopped says that the code has: from now on servers are waited for.
func (i *interruption) stopped() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.over = true; !i.since.IsZero() {
		i.arm()
	}
}

// close says that nothing is waited for any more.
func (i *interruption) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed = true; i.shown != nil {
		i.shown.Stop()
	}
	close(i.ended)
}

// arm is called with i.mu held.
func (i *interruption) arm() {
	if i.shown != nil {
		i.shown.Stop()
	}
	i.shown = time.AfterFunc(waitShown, i.show)
}

func (i *interruption) show() {
	i.mu.Lock()
	defer i.mu.Unlock()
	what := fmt.Sprintf("the code to stop, %v at most", i.grace)
	switch names := i.bridge.Running(); {
	case i.closed || i.over && len(names) == 0:
		return
	case i.over && len(names) == 1:
		what = "the server " + names[0] + " to end"
	case i.over:
		what = "the servers " + strings.Join(names, ", ") + " to end"
	}
	defer i.writes.begin()()
	i.ui.note("interrupted", "waiting for "+what+"; Ctrl-C again ends it at once")
}
