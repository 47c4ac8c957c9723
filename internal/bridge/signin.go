package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/inquiry"
	"codemode/internal/upstream"
	"codemode/internal/visible"
)

// A SignInPage is where a user signs in, and what they type there.
type SignInPage = inquiry.SignInPage

// A SignIn has the user of a server by URL sign in there: show is given the page, and returns once its user has been
// asked to open that. The text says what came of it.
type SignIn func(
	ctx context.Context, server config.Server, show func(context.Context, SignInPage),
) (text string, err error)

// signIns are the sign-ins that a bridge has brought about. There is one at a time, and whoever waited for it finds it
// done.
type signIns struct {
	turn chan struct{} // a semaphore of one: its holder signs in

	mu   sync.Mutex
	done map[string]int // by server, how often
}

func newSignIns() *signIns { return &signIns{turn: make(chan struct{}, 1), done: map[string]int{}} }

func (s *signIns) count(server string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[server]
}

// signInAsked is what an answer to such a question is remembered by, and how the audit log calls it.
const signInAsked = "auth/login"

// withSignIn does what needs a server, and does it once more when the run's user has signed in where that was wanted.
func (l *live) withSignIn(ctx context.Context, r *run, server string, do func() error) error {
	before := l.bridge.signIns.count(server)
	err := do()
	if l.offerSignIn(ctx, r, server, before, err) {
		return do()
	}
	return err
}

// send makes a call, and once more when its user has signed in where its server wanted that and had taken nothing of
// it.
func (u *activeCall) send(ctx context.Context) (json.RawMessage, error) {
	before := u.live.bridge.signIns.count(u.call.Server)
	result, err := u.permit.send(ctx)
	if !upstream.WantsSignIn(err) || u.run.stats.taken(u.entry) {
		return result, err
	}
	u.run.stats.pause(u.entry)
	signedIn := u.live.offerSignIn(ctx, u.run, u.call.Server, before, err)
	u.run.stats.resume(u.entry)
	if !signedIn {
		return nil, err
	}
	if no := (wire{}).Again(ctx); no != nil {
		return nil, no
	}
	return u.permit.send(ctx)
}

// mayOpen says whether a run's user can be asked to open a page.
func (r *Request) mayOpen() bool { return r.Respond != nil && inquiry.Can(r.Can, inquiry.ToOpen()) }

// offerSignIn has the run's user sign in at a server whose error says that it wants that, and says whether they have. A
// no holds until the run ends, as one to a call does.
func (l *live) offerSignIn(ctx context.Context, r *run, server string, before int, err error) bool {
	if !upstream.WantsSignIn(err) || l.bridge.opts.SignIn == nil || r == nil || !r.req.mayOpen() {
		return false
	}
	c, ok := l.bridge.servers.Find(server)
	if !ok {
		return false
	}
	err = l.withUser(ctx, r, func() error { return l.signInNow(ctx, r, c, before) })
	if err != nil && ctx.Err() == nil {
		r.addNote(fmt.Sprintf("server %s wants its user to sign in, which was offered: %s", visible.Name(server),
			visible.Line(l.sentPaths.unresolve(err.Error()))))
	}
	return err == nil
}

// signInNow is offerSignIn's sign-in; the caller holds the semaphore of questions.
func (l *live) signInNow(ctx context.Context, r *run, c config.Server, before int) error {
	all := l.bridge.signIns
	select {
	case all.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-all.turn }()
	if all.count(c.Name) != before {
		return nil
	}
	q := answerKey{server: c.Name, tool: signInAsked}
	if said, known := r.known(q); known {
		return said.refusal()
	}
	if err := l.countQuestion(r); err != nil {
		return err
	}
	text, err := l.showSignIn(ctx, r, c)
	switch {
	case err == nil:
		all.mu.Lock()
		all.done[c.Name]++
		all.mu.Unlock()
		r.noteDone(text)
	case errors.Is(err, errRefused):
		r.remember(q, No)
	case errors.Is(err, errDismissed):
		r.remember(q, Dismissed)
	case ctx.Err() == nil:
		r.remember(q, Unanswered)
	}
	return err
}

// showSignIn is one sign-in, with the page put before the run's user.
func (l *live) showSignIn(ctx context.Context, r *run, c config.Server) (text string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.bridge.admission.confirmTimeout, errUnanswered)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	id, began := rand.Text(), time.Now()
	l.bridge.progress(c.Name, "waiting for its user to sign in")
	defer l.bridge.progress(c.Name, "")
	text, err = l.bridge.opts.SignIn(ctx, c, func(asking context.Context, page SignInPage) {
		if no := r.open(asking, c.Name, id, page); no != nil {
			end(no)
			return
		}
		l.bridge.opens(inquiry.ID(c.Name, id))
	})
	err = causeOf(ctx, err)
	l.bridge.opened(context.WithoutCancel(ctx), c.Name, id)
	r.recordQuestion(c.Name, signInAsked, err, time.Since(began))
	return text, err
}

// open asks a run's user to open the page of a sign-in; its error is why they will not.
func (r *run) open(ctx context.Context, server, id string, page SignInPage) error {
	request, err := inquiry.SignIn(server, page, "codemode auth login "+hint.Word(server), id)
	if err != nil {
		return err
	}
	response, err := r.req.Respond(ctx, request)
	if err != nil {
		return causeOf(ctx, err)
	}
	switch inquiry.Action(response) {
	case "accept":
		return nil
	case "decline":
		return errRefused
	}
	return errDismissed
}
