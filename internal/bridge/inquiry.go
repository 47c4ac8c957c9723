package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"codemode/internal/audit"
	"codemode/internal/guest"
	"codemode/internal/inquiry"
	"codemode/internal/upstream"
	"codemode/internal/visible"
)

// Client is the MCP client that a bridge serves, as far as it is known.
type Client struct {
	Can   *inquiry.Capabilities
	Roots inquiry.Responder // asks it for its roots at any time; nil where it can be asked in a call alone
	// Opened tells it that what a URL was to be opened for has happened; nil where it does not want to know.
	Opened func(ctx context.Context, id string) error
}

// client is a Client, and what it is to be told.
type client struct {
	Client
	mu   sync.Mutex
	open map[string]bool // the ids of URLs that its user has agreed to open
}

// Meet tells the bridge who its client is, before anything is done for it. The first one counts.
func (b *Bridge) Meet(c Client) { b.client.CompareAndSwap(nil, &client{Client: c}) }

// RootsChanged tells the servers that run of the client's other roots.
func (b *Bridge) RootsChanged() { b.pool.RootsChanged() }

// maxOpen is how many URLs are remembered that a user was to open.
const maxOpen = 100

// opens notes a URL that the user has agreed to open.
func (b *Bridge) opens(id string) {
	if c := b.client.Load(); c != nil && c.Opened != nil && id != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open == nil || len(c.open) >= maxOpen {
			c.open = map[string]bool{}
		}
		c.open[id] = true
	}
}

// opened tells the client that what a URL was to be opened for has happened, once.
func (b *Bridge) opened(ctx context.Context, server, id string) {
	c, id := b.client.Load(), inquiry.ID(server, id)
	if c == nil {
		return
	}
	c.mu.Lock()
	known := c.open[id]
	delete(c.open, id)
	c.mu.Unlock()
	if known {
		if err := c.Opened(ctx, id); err != nil {
			b.log.DebugContext(ctx, "telling the client that a URL was opened", "server", server, "error", err)
		}
	}
}

// offers is what servers are told as they start: that they may ask for what the client can answer.
func (b *Bridge) offers() *inquiry.Capabilities {
	if c := b.client.Load(); c != nil {
		return inquiry.Offer(c.Can)
	}
	return inquiry.Offer(nil)
}

// activeCall is a call while its server works on it.
type activeCall struct {
	live   *live
	run    *run
	call   guest.ToolCall
	permit permit
	entry  *entry                  // in the run's callStats
	tell   func(upstream.Progress) // the guest, of the call's progress; nil where it does not want to know

	rec   audit.Record // of what is sent now, the first time or again
	began time.Time    // when that was
}

type activeCallKey struct{}

func callIn(ctx context.Context) *activeCall {
	u, _ := ctx.Value(activeCallKey{}).(*activeCall)
	return u
}

// answerServer answers what a server asks while it works on calls. It is asked in the name of a run: where it may be
// that of another, nobody is.
func (b *Bridge) answerServer(
	ctx context.Context, server string, about upstream.About, request inquiry.Request,
) (inquiry.Response, error) {
	if c := b.client.Load(); inquiry.IsRoots(request) && c != nil && inquiry.Can(c.Can, request) && c.Roots != nil {
		return c.Roots(ctx, request)
	}
	wanted, code := inquiry.Describe(request)
	var of *activeCall
	several := false
	for _, c := range about.Calls {
		u := callIn(c)
		several = several || of != nil && u != nil && u.run != of.run
		if u != nil {
			of = u
		}
	}
	why := ""
	switch {
	case of == nil:
		why = "no call of code's is under way there"
	case several:
		why = "calls of several runs are under way there, and nothing says which of them it is about"
		code = inquiry.CodeRefused
	case !about.Said && b.admission.lanesOf(server).usedBeside(of.run.answers):
		why = fmt.Sprintf("a call of another session has ended there in the last %g s, and nothing says whether it is "+
			"about that", upstream.StillAsks.Seconds())
		code = inquiry.CodeRefused
	case of.run.req.Respond == nil || !inquiry.Can(of.run.req.Can, request):
		why = of.run.cannot()
	}
	if why != "" {
		for _, c := range about.Calls {
			if u := callIn(c); u != nil {
				u.noteRefusal(server, wanted, why)
			}
		}
		return nil, inquiry.Refusal(code, "codemode did not ask "+wanted+": "+why)
	}
	if len(about.Calls) > 1 {
		return of.inquire(ctx, server, "", request)
	}
	of.run.stats.pause(of.entry)
	defer of.run.stats.resume(of.entry)
	return of.inquire(ctx, server, of.call.Tool, request)
}

// cannot is why its client does not answer.
func (r *run) cannot() string {
	if r.req.Respond == nil && r.req.Unasked != "" {
		return r.req.Unasked
	}
	return "this client does not offer that"
}

// noteRefusal adds a note to the run that a question of a server was refused, and why. The server may have
// written a part of that, so its secrets are masked.
func (u *activeCall) noteRefusal(server, wanted, why string) {
	text := fmt.Sprintf("server %s asked %s, and was refused: %s", visible.Name(server), wanted, why)
	u.run.addNote(u.live.bridge.redactor().Text(u.live.sentPaths.unresolve(text)))
}

// inquire has the run's client answer. What its user may have to do waits for the questions about calls, counts as one
// of them, and has the same timeout.
func (u *activeCall) inquire(
	ctx context.Context, server, tool string, request inquiry.Request,
) (inquiry.Response, error) {
	wanted, _ := inquiry.Describe(request)
	shown, err := inquiry.Presentable(server, tool, request)
	if err != nil {
		u.noteRefusal(server, wanted, err.Error())
		return nil, inquiry.Invalid(err)
	}
	var response inquiry.Response
	if inquiry.IsRoots(request) {
		response, err = u.run.req.Respond(ctx, shown)
	} else {
		err = u.live.withUser(ctx, u.run, func() error {
			response, err = u.askNow(ctx, server, tool, shown)
			return err
		})
	}
	if err == nil && !inquiry.IsAnswer(request, response) {
		err = errors.New("the client's answer is none to that, or has a number that would be another by then")
	}
	if err == nil {
		if inquiry.Action(response) == "accept" {
			u.live.bridge.opens(inquiry.URLID(shown))
		}
		return response, nil
	}
	u.noteRefusal(server, wanted, err.Error())
	if inquiry.IsElicitation(request) && ctx.Err() == nil {
		return inquiry.Cancelled(), nil
	}
	return nil, err
}

// askNow has the client answer what its user may have to do something for. The caller holds the semaphore of questions.
func (u *activeCall) askNow(
	ctx context.Context, server, tool string, request inquiry.Request,
) (response inquiry.Response, err error) {
	if err := u.live.countQuestion(u.run); err != nil {
		return nil, err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, u.live.bridge.admission.confirmTimeout, errUnanswered)
	defer cancel()
	if response, err = u.run.req.Respond(ctx, request); err != nil {
		err = causeOf(ctx, err)
	}
	u.run.recordInquiry(server, tool, request, response, err, time.Since(began))
	return response, err
}

// holdCall has the clock of a call's run stand still while the call waits for its user.
func holdCall(ctx context.Context) (release func()) {
	u := callIn(ctx)
	if u == nil || !u.run.clock.hold() {
		return func() {}
	}
	u.run.stats.pause(u.entry)
	return func() {
		u.run.stats.resume(u.entry)
		u.run.clock.release()
	}
}

// use is how one session uses a server.
type use struct {
	calls int       // under way
	ended time.Time // the last of them
}

// late says whether its server may still ask about one.
func (u use) late() bool { return u.calls > 0 || time.Since(u.ended) <= upstream.StillAsks }

// uses notes that a session, which its answers stand for, has a call there until it is over.
func (l *lanes) uses(by *answers) (over func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.users[by]; !known {
		maps.DeleteFunc(l.users, func(_ *answers, u use) bool { return !u.late() })
	}
	l.users[by] = use{l.users[by].calls + 1, time.Time{}}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.users[by] = use{l.users[by].calls - 1, time.Now()}
	}
}

// usedBeside says whether a question of the server's may be about a call of another session.
func (l *lanes) usedBeside(by *answers) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other, u := range l.users {
		if other != by && u.late() {
			return true
		}
	}
	return false
}
