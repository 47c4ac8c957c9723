package bridge

import (
	"context"
	"strconv"
	"time"

	"codemode/internal/guest"
	"codemode/internal/upstream"
	"codemode/internal/visible"
)

// What is told of what a server says of its progress.
const (
	maxReport = 300                    // bytes of it, to people
	maxTold   = 4 << 10                // bytes of it, to the guest
	tellPause = 100 * time.Millisecond // between two, to the guest
)

// Called is what [Request.Calling] is told first of a call.
const Called = "is called"

// callProgress is told what a server says of the progress of a call.
func (b *Bridge) callProgress(ctx context.Context, _ string, p upstream.Progress) {
	u := callIn(ctx)
	if u == nil {
		return
	}
	p.Status, p.Message = u.live.sentPaths.unresolve(p.Status), u.live.sentPaths.unresolve(p.Message)
	if u.tell != nil {
		u.tell(p)
	}
	text := said(p)
	if text == "" {
		return
	}
	u.run.calling(u.call, text)
	if u.run.req.Progress != nil {
		u.run.req.Progress(callName(u.call) + ": " + text)
	}
}

// said is what a server says, for people; empty where that is nothing.
func said(p upstream.Progress) (text string) {
	if p.Status == "" {
		text = amount(p.Done)
	}
	if p.Total > 0 {
		text += " of " + amount(p.Total)
	}
	if p.Message == "" {
		return text
	}
	if text != "" {
		text += ": "
	}
	return text + visible.Line(visible.Clip(p.Message, maxReport))
}

// amount is a number as people write it, however large it is.
func amount(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func callName(c guest.ToolCall) string { return visible.Call(c.Server, c.Tool) }

// calling says what is known of a call that a server works on.
func (r *run) calling(c guest.ToolCall, text string) {
	if r.req.Calling != nil {
		r.req.Calling(callName(c), text)
	}
}

type tellerKey struct{}

func tellerIn(ctx context.Context) func(upstream.Progress) {
	tell, _ := ctx.Value(tellerKey{}).(func(upstream.Progress))
	return tell
}

// withTeller has the guest be told of the progress of its request, until that is answered: of what a server says the
// last, so that neither a server that says much nor a guest that reads nothing holds anything up.
func (l *live) withTeller(ctx context.Context, id int64) context.Context {
	last := make(chan guest.Progress, 1)
	l.work.Go(func() {
		pause := time.NewTimer(0)
		defer pause.Stop()
		for {
			select {
			case <-pause.C:
			case <-ctx.Done():
				return
			}
			select {
			case p := <-last:
				if l.conn.Notify(guest.MethodProgress, p)() != nil {
					return
				}
			case <-ctx.Done():
				return
			}
			pause.Reset(tellPause)
		}
	})
	return context.WithValue(ctx, tellerKey{}, func(p upstream.Progress) {
		told := guest.Progress{
			ID: id, Status: p.Status, Total: p.Total, Message: visible.Clip(p.Message, maxTold),
		}
		if p.Status == "" {
			told.Done = &p.Done
		}
		for {
			select {
			case last <- told:
				return
			default:
			}
			select {
			case <-last:
			default:
			}
		}
	})
}
