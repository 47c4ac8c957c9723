package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	reportEvery = 100 * time.Millisecond // at most
)

// reporter tells a client what servers say of the progress of a run's calls, and what the run prints, by the token of
// the client's own call. Servers may say more than anybody reads: only the last of it is told. It tells nothing between
// rounds.
type reporter struct {
	mu      sync.Mutex
	round   *reporting
	printed printed
	told    float64 // what the client was told grows, whichever call it is about
}

// reporting is a reporter in one round of a call.
type reporting struct {
	of    *reporter
	ctx   context.Context
	stop  chan struct{} // closed when the round is over: what is left is told at once
	tell  func(context.Context, *mcp.ProgressNotificationParams) error
	token any
	work  sync.WaitGroup
	next  string // guarded by of.mu, as busy
	busy  bool
}

// begin has the reporter tell the client of a request, if that wants to know, until over is called.
func (r *reporter) begin(ctx context.Context, req *mcp.CallToolRequest) (over func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	now := &reporting{of: r, ctx: ctx, stop: make(chan struct{}), tell: req.Session.NotifyProgress, token: token}
	r.mu.Lock()
	r.round = now
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		r.round = nil
		r.mu.Unlock()
		close(now.stop)
		now.work.Wait() // nothing is told behind the answer
	}
}

// report has something told, now or soon. It waits for nobody.
func (r *reporter) report(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.round
	if now == nil {
		return
	}
	now.next = text
	now.wake()
}

// print has lines told, now or soon. It waits for nobody.
func (r *reporter) print(stream string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.round == nil {
		return
	}
	if r.printed.add(stream, data); len(r.printed.lines) > 0 {
		r.round.wake()
	}
}

// wake is called with of.mu held.
func (r *reporting) wake() {
	if !r.busy {
		r.busy = true
		r.work.Go(r.run)
	}
}

// run tells what there is to tell.
func (r *reporting) run() {
	for {
		r.of.mu.Lock()
		text := r.of.printed.take()
		if text == "" {
			text, r.next = r.next, ""
		}
		if r.busy = text != ""; r.busy {
			r.of.told++
		}
		told := r.of.told
		r.of.mu.Unlock()
		if text == "" {
			return
		}
		err := r.tell(r.ctx, &mcp.ProgressNotificationParams{ProgressToken: r.token, Progress: told, Message: text})
		if err != nil {
			return // as busy for good
		}
		select {
		case <-time.After(reportEvery):
		case <-r.stop:
		case <-r.ctx.Done():
		}
	}
}
