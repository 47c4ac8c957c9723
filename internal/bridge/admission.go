package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"codemode/internal/catalog"
	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/policy"
	"codemode/internal/upstream"
)

// admission holds a tenant's calls against its policy. It counts those of the last minute, and those that each server
// works on.
type admission struct {
	rules    policy.Rules
	places   map[string]string // where a rule is set
	patience time.Duration     // for a user's answer

	mu     sync.Mutex
	recent []time.Time       // calls of the last minute, the oldest first; kept only for a limit
	lanes  map[string]*lanes // by server
}

func newAdmission(c config.Policy) *admission {
	return &admission{rules: c.Rules, places: c.Places, patience: c.ConfirmTimeout, lanes: map[string]*lanes{}}
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

// to returns the lanes to a server.
func (a *admission) to(server string) *lanes {
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

// says explains a denial: which rule, and where its user has set it.
func (a *admission) says(d policy.Decision) string {
	if place := a.places[d.Rule]; place != "" {
		return fmt.Sprintf("%s (%s)", d.Why, place)
	}
	return d.Why
}

// note is what the documentation of a tool says of the policy; empty where it may be called.
func (a *admission) note(c policy.Call) string {
	switch d := a.rules.Decide(c); {
	case d.Denied:
		return "policy denies it: " + a.says(d)
	case d.Ask:
		return "policy asks the user before each call: " + a.says(d)
	}
	return ""
}

// noteOn is the note on a tool. A saved one is no server's: what it calls is judged when it does.
func (a *admission) noteOn(server catalog.Server, t catalog.Tool) string {
	if t.Caller != "" {
		return ""
	}
	return a.note(policyCall(server, t))
}

// refusal is why a call is not made, as the guest is told.
type refusal struct {
	code    int
	message string
	data    guest.ErrorData
	how     ending // callDenied, unless the code or the server was the reason
}

// refusedFor is the refusal of a call for which its server could not be asked.
func refusedFor(ctx context.Context, c guest.ToolCall, err error) *refusal {
	err = causeOf(ctx, err)
	code, message, data := explain(c.Server, c.Tool, err)
	how := callDenied
	switch {
	case errors.As(err, new(*upstream.StartError)):
		how = callFailed
	case code == guest.CodeCancelled || code == guest.CodeTimeout:
		how = callCancelled
	}
	return &refusal{code, message, data, how}
}

func (r *refusal) Error() string { return r.message }

// permit is a call that may be made.
type permit struct {
	run    *run
	server config.Server
	reads  bool   // it changes nothing
	rule   string // that its user was asked by
}

// admit decides whether the run under way may make a call: it must have been given the server, the server's entry must
// offer the tool, the server must list it, and the policy must let it pass, or else the user. There is no other way to
// a tool.
func (l *live) admit(ctx context.Context, c guest.ToolCall) (permit, *refusal) {
	r, ok := l.mayCall(c.Server)
	if !ok {
		code, message, data := unavailable(c.Server, l.whyNot(c.Server))
		return permit{}, &refusal{code, message, data, callDenied}
	}
	server, _ := l.bridge.servers.find(c.Server)
	data := guest.ErrorData{Server: c.Server, Tool: c.Tool}
	if !offers(server, c.Tool) {
		return permit{}, &refusal{
			guest.CodeToolFailed,
			fmt.Sprintf("tool %q of server %q is switched off in %q", c.Tool, c.Server, server.Source), data,
			callDenied,
		}
	}
	call, epoch, err := l.bridge.servers.callable(ctx, server, c.Tool)
	if err != nil {
		return permit{}, refusedFor(ctx, c, err)
	}
	call.Arguments = int64(len(c.Arguments))
	d := l.bridge.admission.decide(r, call)
	data.Rule = d.Rule
	why := l.bridge.admission.says(d)
	if d.Ask {
		if no := l.approve(ctx, r, c, epoch, why); no != nil {
			d.Denied, why = true, why+", and "+no.Error()
		}
	}
	if d.Denied {
		message := fmt.Sprintf("policy denies %s.%s: %s", c.Server, c.Tool, why)
		return permit{}, &refusal{guest.CodeDenied, message, data, callDenied}
	}
	return permit{r, server, call.Hints.ReadOnly, d.Rule}, nil
}

// checkResultSize decides whether code may have what a call has brought.
func (l *live) checkResultSize(c guest.ToolCall, size int) *refusal {
	d := l.bridge.admission.rules.Result(int64(size))
	if !d.Denied {
		return nil
	}
	message := fmt.Sprintf(
		"policy withholds what %s.%s has returned, the call was made: %s", c.Server, c.Tool, l.bridge.admission.says(d),
	)
	data := guest.ErrorData{Server: c.Server, Tool: c.Tool, Rule: d.Rule}
	return &refusal{guest.CodeDenied, message, data, callDenied}
}
