package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"codemode/internal/guest"
	"codemode/internal/hint"
	"codemode/internal/visible"
)

// A ServerAdder configures servers that code asks for, once their user has agreed.
type ServerAdder interface {
	// Registry is the address at which Propose looks a name up.
	Registry() string
	// Propose makes what would be configured: of an entry, or of the name that a server has in a registry. Nothing is
	// written for it.
	Propose(ctx context.Context, name string, entry json.RawMessage) (Proposal, error)
	// Add writes a proposal, and makes the server one of the bridge's. It replaces nothing.
	Add(ctx context.Context, p Proposal) error
}

// Proposal is a server that could be configured.
type Proposal struct {
	Name   string
	Entry  json.RawMessage // all of it, as it would be written
	File   string          // that would be written
	Given  []string        // references in it to what is the user's: variables, secrets
	There  bool            // it is configured so already
	Remote bool            // it is reached by URL
}

// What code may ask for a server with, in bytes. An entry is shown whole or not at all.
const (
	maxAskedEntry  = 2 << 10
	maxAskedReason = 200
	maxShownEntry  = 800 // as it is shown: with the rest, less than a screen of 80 by 24
)

// maxGiven is how many things of the user's a server may be given.
const maxGiven = 8

// addAsked is what an answer to such a question is remembered by, and how the audit log calls it.
const addAsked = "servers/add"

// addServer puts a server that code asks for before the user. It is there in the same run after a yes; a no holds until
// the run ends.
func (l *live) addServer(ctx context.Context, m guest.Message) (json.RawMessage, *refusal) {
	var q guest.AddServer
	if err := json.Unmarshal(m.Params, &q); err != nil {
		return nil, refuse(-32602, "request_server: "+err.Error(), guest.ErrorData{})
	}
	switch {
	case len(q.Name) > maxAskedName:
		return nil, tooLong("request_server", "name", q.Name, maxAskedName)
	case len(q.Entry) > maxAskedEntry:
		return nil, tooLong("request_server", "entry", string(q.Entry), maxAskedEntry)
	case len(q.Reason) > maxAskedReason:
		return nil, tooLong("request_server", "reason", q.Reason, maxAskedReason)
	}
	r := l.currentRun()
	if r == nil {
		return nil, refuse(-32602, "request_server: no run is under way", guest.ErrorData{})
	}
	if no := l.mayAdd(r); no != nil {
		return nil, no
	}
	var p Proposal
	err := l.withUser(ctx, r, func() (err error) {
		p, err = l.propose(ctx, r, q)
		return err
	})
	if err != nil {
		return nil, notAdded("request_server", causeOf(ctx, err))
	}
	return l.added(r, p)
}

// notAdded refuses what code has asked to have added, by the function of that name.
func notAdded(function string, err error) *refusal {
	code := -32602
	if denied := (*denial)(nil); errors.As(err, &denied) {
		code = guest.CodeDenied
	}
	return refuse(code, function+": "+err.Error(), guest.ErrorData{Hint: strings.Join(hint.Of(err), "; ")})
}

// mayAdd says why a run can ask for no server.
func (l *live) mayAdd(r *run) *refusal {
	why := ""
	switch {
	case l.bridge.opts.Adder == nil:
		why = "servers cannot be added here"
	case r.req.Servers != nil:
		why = "this run was given " + strings.Join(r.req.Servers, ", ") + " alone; ask in one that is given all servers"
	case r.req.Ask == nil:
		why = r.req.Unasked + "; the user can add it: codemode servers add"
	default:
		return nil
	}
	return refuse(guest.CodeDenied, "request_server: "+why, guest.ErrorData{})
}

// lookupTimeout is how long a registry may take, while the run's clock stands still.
const lookupTimeout = 20 * time.Second

var errLookup = errors.New("the MCP registry did not answer in time")

// A TellingError is why Propose refuses an entry by what it has found outside, such as what another entry starts. Code
// that tries many entries would find that out, so one that is refused counts as a question.
type TellingError struct{ Err error }

func (e *TellingError) Error() string { return e.Err.Error() }
func (e *TellingError) Unwrap() error { return e.Err }

// denial is a no, or why nobody was asked.
type denial struct{ error }

// propose asks the user, and adds the server after a yes; the caller holds asking. A name that code has chosen leaves
// this machine for the registry only after a yes of its own: it could say anything.
func (l *live) propose(ctx context.Context, r *run, q guest.AddServer) (p Proposal, err error) {
	adder, reason := l.bridge.opts.Adder, visible.Line(q.Reason)
	if said, known := r.known(answerKey{tool: addAsked}); known { // after a no nothing is looked at
		return p, &denial{said.refusal()}
	}
	if len(q.Entry) == 0 {
		looks := Question{Server: visible.Name(q.Name), Why: reason, LookupAt: visible.Line(adder.Registry())}
		err := l.askAdding(ctx, r, addAsked, looks)
		if err != nil {
			return p, err
		}
	}
	looking, cancel := context.WithTimeoutCause(ctx, lookupTimeout, errLookup)
	defer cancel()
	if p, err = adder.Propose(looking, q.Name, q.Entry); err != nil {
		return p, l.countTold(r, q, causeOf(looking, err))
	}
	if p.There {
		return p, l.countTold(r, q, nil)
	}
	given := slices.Clone(p.Given)
	for i := range given {
		given[i] = visible.Line(given[i])
	}
	entry := visible.Value(p.Entry, 16*maxAskedEntry)
	if len(entry) > maxShownEntry || len(p.File) > maxAskedReason || len(p.Given) > maxGiven {
		return p, errors.New("the entry is too long to be seen as a whole on the user's screen; the user can add it")
	}
	if entry != string(p.Entry) {
		return p, errors.New("the entry has characters that its user cannot be shown as they would be stored; " +
			"nothing was written")
	}
	err = l.askAdding(ctx, r, addAsked, Question{
		Server: visible.Name(p.Name), Arguments: entry, Why: reason, AddTo: visible.Line(p.File), Given: given,
		Remote: p.Remote,
	})
	if err != nil {
		return p, err
	}
	return p, adder.Add(ctx, p)
}

// countTold is what code is told without a question: where that is what was found outside, it counts as one, as long as
// some are left, and has a line in the audit log.
func (l *live) countTold(r *run, q guest.AddServer, told error) error {
	if telling := (*TellingError)(nil); told != nil && !errors.As(told, &telling) {
		return told
	}
	if err := l.countQuestion(r); err != nil {
		return &denial{err}
	}
	if told != nil {
		r.recordQuestion(visible.Name(q.Name), addAsked, told, 0)
	}
	return told
}

// askAdding asks the user one question about what is to be added; nil is a yes. A no is to all questions of its kind.
func (l *live) askAdding(ctx context.Context, r *run, kind string, about Question) error {
	q := answerKey{tool: kind}
	if said, known := r.known(q); known {
		return &denial{said.refusal()}
	}
	if err := l.countQuestion(r); err != nil {
		return &denial{err}
	}
	asking, cancel := context.WithTimeoutCause(ctx, l.bridge.admission.confirmTimeout, errUnanswered)
	defer cancel()
	began := time.Now()
	answer, err := r.req.Ask(asking, about)
	if err != nil {
		answer, err = Unanswered, causeOf(asking, err)
	} else if err = answer.refusal(); answer == Dismissed {
		err = fmt.Errorf("%w; the user can add it: %s", err, about.command())
	}
	if ctx.Err() == nil && err != nil {
		r.remember(q, answer)
	}
	r.recordQuestion(about.Server, kind, err, time.Since(began))
	if err != nil {
		return &denial{err}
	}
	return nil
}

// command is what its user can type to add what is asked for.
func (q Question) command() string {
	if q.Packages {
		return "codemode packages add " + hint.Words(strings.Split(q.Server, ", "))
	}
	if q.LookupAt != "" {
		return "codemode servers add " + hint.Word(q.Server)
	}
	return "codemode servers add --help"
}

// added tells the run and the guest of a server that was added. One that lacks something yet says what.
func (l *live) added(r *run, p Proposal) (json.RawMessage, *refusal) {
	if !p.There {
		r.noteDone(fmt.Sprintf("added the server %q, as its user has agreed: it is in %q", p.Name, p.File))
	}
	c, ok := l.bridge.servers.Find(p.Name)
	if !ok {
		err := errors.New("it is not among the servers that code is given")
		if u, there := l.bridge.servers.Configured().UnusableNamed(p.Name); there {
			err = errors.New(u.Why())
		}
		message := fmt.Sprintf("request_server: server %q was added, and cannot be used yet: %v", p.Name, err)
		return nil, refuse(guest.CodeUnavailable, message, guest.ErrorData{Server: p.Name})
	}
	entry, version := l.bridge.servers.View(c, nil)
	l.mu.Lock()
	l.told[c.Name] = version
	l.mu.Unlock()
	l.notify(guest.MethodCatalog, guest.CatalogUpdate{Servers: []guest.Server{entry}})
	answer, err := json.Marshal(guest.AddedServer{Name: c.Name})
	if err != nil {
		return nil, refuse(-32603, err.Error(), guest.ErrorData{})
	}
	return answer, nil
}
