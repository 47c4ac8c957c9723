package commands

import (
	"context"
	"fmt"
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
}

// watch has the first Ctrl-C interrupt the program, which may clean up, and the second end it and what it has started.
func (i *interruption) watch(cancel context.CancelCauseFunc) (stop func()) {
	unwatch := watchSignals(
		heeded(),
		func(s *signalled) { i.begin(); cancel(s) },
		func() { i.bridge.Hurry(); _ = i.bridge.Close() },
	)
	return func() { unwatch(); i.close() }
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
	i.ui.note("interrupted", "waiting for "+what+"; Ctrl-C again ends it at once")
}
