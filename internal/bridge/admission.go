package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"codemode/internal/catalog"
	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/policy"
	"codemode/internal/servers"
	"codemode/internal/upstream"
)

// admission holds a tenant's calls against its policy. It counts those of the last minute, and those that each server
// works on.
type admission struct {
	rules          policy.Rules
	places         map[string]string // where a rule is set
	confirmTimeout time.Duration     // for a user's answer

	mu     sync.Mutex
	recent []time.Time       // calls of the last minute, the oldest first; kept only for a limit
	lanes  map[string]*lanes // by server
}

func newAdmission(c config.Policy) *admission {
	return &admission{rules: c.Rules, places: c.Places, confirmTimeout: c.ConfirmTimeout, lanes: map[string]*lanes{}}
}

// decide decides about a call of a run, and counts it where it may be made.
func (a *admission) decide(r *run, c policy.Call) policy.Decision {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for len(a.recent) > 0 && now.Sub(a.recent[0]) >= time.Minute {
		a.recent = a.recent[1:]
	}
	c.InRun, c.LastMinute = r.admitted, len(a.recent)
	d := a.rules.Decide(c)
	if d.Denied {
		return d
	}
	r.admitted++
	if a.rules.CallsPerMinute > 0 {
		a.recent = append(a.recent, now)
	}
	return d
}

// lanesOf returns the queues of a server, which limit the calls that it gets at once.
func (a *admission) lanesOf(server string) *lanes {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.lanes[server]
	if l == nil {
		l = newLanes(a.rules.Concurrency)
		a.lanes[server] = l
	}
	return l
}

// close ends what waits at servers, when no run is left.
func (a *admission) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.lanes {
		l.close()
	}
}

// reasonFor explains a denial: the rule, and where the user has set it.
func (a *admission) reasonFor(d policy.Decision) string {
	if place := a.places[d.Rule]; place != "" {
		return fmt.Sprintf("%s (%s)", d.Why, place)
	}
	return d.Why
}

// Prepare evaluates once the rules that depend on a tool's names and hints alone.
func (a *admission) Prepare(c policy.Call) policy.Call { return a.rules.Prepare(c) }

// Note is what the documentation of a tool says of the policy; empty where it may be called.
func (a *admission) Note(c policy.Call) string {
	switch d := a.rules.Decide(c); {
	case d.Denied:
		return "policy denies it: " + a.reasonFor(d)
	case d.Ask:
		return "policy asks the user before each call: " + a.reasonFor(d)
	}
	return ""
}

// refusal is why a call is not made, as the guest is told.
type refusal struct {
	code    int
	message string
	data    guest.ErrorData
	how     ending // callDenied, unless the code or the server was the reason
}

// refusedFor is the refusal of a call for which its server could not be asked.
func (b *Bridge) refusedFor(ctx context.Context, c guest.ToolCall, err error) *refusal {
	err = causeOf(ctx, err)
	code, message, data := b.explain(c.Server, c.Tool, err)
	how := callDenied
	switch {
	case errors.As(err, new(*upstream.StartError)), errors.As(err, new(*crowdedError)),
		code == guest.CodeCancelled, code == guest.CodeTimeout:
		how = callUnsent
	}
	return &refusal{code, message, data, how}
}

func (r *refusal) Error() string { return r.message }

// permit is a call that may be made.
type permit struct {
	run   *run
	tool  bool   // it is a tool's, and not another request
	reads bool   // it changes nothing
	early bool   // an earlier answer of the user's allows it
	rule  string // the rule for which the user was asked; empty where nobody was
	send  func(context.Context) (json.RawMessage, error)
	again policy.Call // the policy's input, for a retry
}

// mayUse returns the run under way, if that was given the call's server and the server did not fail to start for it.
func (l *live) mayUse(ctx context.Context, c guest.ToolCall) (*run, *refusal) {
	r, ok := l.mayCall(c.Server)
	if !ok {
		code, message, data := unavailable(c.Server, l.whyNot(c.Server))
		return nil, &refusal{code, message, data, callDenied}
	}
	if err := r.failed[c.Server]; err != nil {
		return nil, l.bridge.refusedFor(ctx, c, err)
	}
	return r, nil
}

// admit decides whether the run under way may make a call. It checks, in this order: the run was given the server, the
// server started, its entry offers the tool, the server lists it, and the policy or the user allows it (judge). No
// other function lets a tool be called. Two refusals come later: recordBegin, for audit.required, and checkResultSize.
func (l *live) admit(ctx context.Context, c guest.ToolCall) (permit, *refusal) {
	r, no := l.mayUse(ctx, c)
	if no != nil {
		return permit{}, no
	}
	server, _ := l.bridge.servers.Find(c.Server)
	if !servers.Offers(server, c.Tool) {
		return permit{}, &refusal{
			guest.CodeToolFailed,
			fmt.Sprintf("tool %q of server %q is switched off in %q", c.Tool, c.Server, server.Source),
			guest.ErrorData{Server: c.Server, Tool: c.Tool},
			callDenied,
		}
	}
	var tool servers.Listed
	err := l.withSignIn(ctx, r, c.Server, func() (err error) {
		tool, err = l.bridge.servers.Callable(ctx, server, c.Tool)
		return err
	})
	if err != nil {
		if l.pace.Wait(ctx, paceAhead) == nil {
			defer l.suggesting()()
		}
		return permit{}, l.bridge.refusedFor(ctx, c, err)
	}
	p, no := l.judge(ctx, r, c, tool.Call, tool.Epoch)
	p.tool = true
	p.send = l.agreed(c.Server, p, tool.List, func(ctx context.Context) (json.RawMessage, error) {
		return l.bridge.pool.CallListed(ctx, c.Server, c.Tool, tool.Definition, c.Arguments)
	})
	return p, no
}

// agreed sends what is permitted. What its user was asked for earlier is for a server that lists these tools still: one
// may have ended since, and come back with others.
func (l *live) agreed(
	server string, p permit, tools []json.RawMessage, send func(context.Context) (json.RawMessage, error),
) func(context.Context) (json.RawMessage, error) {
	return func(ctx context.Context) (json.RawMessage, error) {
		if p.early {
			ctx = upstream.ForTools(ctx, tools)
		}
		result, err := send(ctx)
		if errors.Is(err, upstream.ErrRedefined) || errors.Is(err, upstream.ErrRelisted) {
			l.bridge.servers.Forget(server) // which the pool's own notice may come too late for
		}
		return result, err
	}
}

// requestHints are those of what is no call of a tool: by the protocol it changes nothing, and nobody says how far it
// reaches.
var requestHints = policy.Hints{ReadOnly: true, OpenWorld: true}

// admitRequest decides whether the run under way may ask a server for what is no call of a tool.
func (l *live) admitRequest(
	ctx context.Context, c guest.ToolCall, send func(context.Context) (json.RawMessage, error),
) (permit, *refusal) {
	r, no := l.mayUse(ctx, c)
	if no != nil {
		return permit{}, no
	}
	set := l.bridge.servers.Configured()
	server, _ := set.Named(c.Server)
	call := policy.Call{
		Server: c.Server, ServerNames: server.Names()[1:], Unread: server.Unread, Tool: c.Tool, Hints: requestHints,
		Doubted:       slices.Collect(maps.Keys(server.Doubted)),
		ServerAliases: catalog.ServerAliases(c.Server, set.Alias[c.Server], server.Names()[1:]...),
	}
	tools, epoch := []json.RawMessage(nil), l.bridge.servers.Epoch(c.Server)
	if l.bridge.admission.rules.Decide(call).Ask {
		err := l.withSignIn(ctx, r, c.Server, func() (err error) {
			tools, epoch, err = l.bridge.servers.Listing(ctx, server)
			return err
		})
		if err != nil {
			return permit{}, l.bridge.refusedFor(ctx, c, err)
		}
	}
	p, no := l.judge(ctx, r, c, call, epoch)
	p.send = l.agreed(c.Server, p, tools, send)
	return p, no
}

// judge asks the policy about a call, and the user where the policy says so.
func (l *live) judge(
	ctx context.Context, r *run, c guest.ToolCall, call policy.Call, epoch int,
) (permit, *refusal) {
	call.Arguments = int64(len(c.Arguments))
	d := l.bridge.admission.decide(r, call)
	why, earlier := l.bridge.admission.reasonFor(d), false
	if d.Ask {
		var no error
		if earlier, no = l.approve(ctx, r, c, epoch, reason{why, call.Hints.ReadOnly}); no != nil {
			d.Denied, why = true, why+", and "+no.Error()
		}
	}
	if d.Denied {
		return permit{}, deniedBy(d, c, why)
	}
	return permit{run: r, reads: call.Hints.ReadOnly, early: earlier, rule: d.Rule, again: call}, nil
}

func deniedBy(d policy.Decision, c guest.ToolCall, why string) *refusal {
	return &refusal{
		guest.CodeDenied, fmt.Sprintf("policy denies %s.%s: %s", c.Server, c.Tool, why),
		guest.ErrorData{Server: c.Server, Tool: c.Tool, Rule: d.Rule},
		callDenied,
	}
}

// checkResultSize decides whether code may have what a call has brought.
func (l *live) checkResultSize(c guest.ToolCall, size int) *refusal {
	d := l.bridge.admission.rules.Result(int64(size))
	if !d.Denied {
		return nil
	}
	message := fmt.Sprintf(
		"policy withholds what %s.%s has returned, the call was made: %s", c.Server, c.Tool, l.bridge.admission.reasonFor(d),
	)
	data := guest.ErrorData{Server: c.Server, Tool: c.Tool, Rule: d.Rule}
	return &refusal{guest.CodeDenied, message, data, callDenied}
}
