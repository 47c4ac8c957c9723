package bridge

import (
	"context"
	"fmt"
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

// callProgress is told what a server says of the progress of a call.
func (b *Bridge) callProgress(ctx context.Context, server string, p upstream.Progress) {
	u := callIn(ctx)
	if u == nil {
		return
	}
	if u.tell != nil {
		u.tell(p)
	}
	if u.run.req.Progress == nil || p.Status != "" && p.Message == "" {
		return
	}
	text := fmt.Sprintf("%s.%s:", visible.Name(server), visible.Name(u.call.Tool))
	if p.Status == "" {
		text += fmt.Sprintf(" %g", p.Done)
	}
	if p.Total > 0 {
		text += fmt.Sprintf(" of %g", p.Total)
	}
	if p.Message != "" {
		if p.Status == "" {
			text += ":"
		}
		text += " " + visible.Line(visible.Clip(p.Message, maxReport))
	}
	u.run.req.Progress(text)
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
