package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/bridge"
	"codemode/internal/inquiry"
	"codemode/internal/telemetry"
	"codemode/internal/visible"
)

// severalRounds is the first revision of MCP in which a server asks nothing by itself: it answers a call with what it
// needs to know, and the client calls again (SEP-2322).
const severalRounds = "2026-07-28"

// rounds are the calls of run_python of one client, some of which take several rounds. Between two of them the run goes
// on, and waits for its user's answer; rounds owns it, and close waits for it.
type rounds struct {
	server   *Server
	patience time.Duration
	ctx      context.Context
	end      context.CancelFunc
	work     sync.WaitGroup

	mu     sync.Mutex
	parked map[string]*parked // by the state that the client is to send back
}

// calling is what a call does, once it may take as many rounds as it needs.
type calling func(ctx context.Context, arguments json.RawMessage, from bridge.Request) mcp.Result

// pendingCall is one run and the client's rounds to it.
type pendingCall struct {
	cancel context.CancelCauseFunc
	done   chan mcp.Result // has room for it
	asks   chan ask
	report *reporter
}

// ask is a question on its way to the client.
type ask struct {
	request mcp.InputRequest
	answer  chan mcp.InputResponse // has room for it; nil is none
}

// parked is a call between two rounds.
type parked struct {
	call *pendingCall
	ask  ask
	late *time.Timer
}

// questionID names the one question of a round.
const questionID = "question"

var errNobodyCame = errors.New("the client did not come back with its user's answer")

func newRounds(ctx context.Context, s *Server) *rounds {
	r := &rounds{server: s, patience: s.opts.Config.Policy.ConfirmTimeout, parked: map[string]*parked{}}
	r.ctx, r.end = context.WithCancel(ctx)
	return r
}

// close cancels the runs whose client has gone, and waits for them.
func (r *rounds) close() {
	r.end()
	r.work.Wait()
}

// handle is call, which ends with ctx, too: the SDK lets what is under way go on.
func (r *rounds) handle(ctx, run context.Context, req *mcp.CallToolRequest, do calling) mcp.Result {
	run, cancel := context.WithCancelCause(run)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	return r.call(run, req, do)
}

// runPython is calling run_python.
func (r *rounds) runPython(ctx context.Context, arguments json.RawMessage, from bridge.Request) mcp.Result {
	out := r.server.call(ctx, arguments, from)
	result := toolResult(out, r.server.form(from.Client))
	r.server.link(result, out.Artifacts)
	return result
}

// call is one round of a call.
func (r *rounds) call(ctx context.Context, req *mcp.CallToolRequest, do calling) mcp.Result {
	client := req.Session.InitializeParams()
	caller := bridge.Request{Unasked: cannotElicit, Parent: traceParent(req.Params.Meta)}
	if client != nil && client.ClientInfo != nil {
		caller.Client = visible.Name(client.ClientInfo.Name)
	}
	if client == nil || client.Capabilities == nil || client.ProtocolVersion < severalRounds {
		report := &reporter{}
		defer report.begin(ctx, req)()
		caller.Progress, caller.Printed = report.report, report.print
		if client != nil && client.Capabilities != nil {
			caller.Can = client.Capabilities
			askedBy(&caller, request(req.Session))
		}
		result := do(ctx, req.Params.Arguments, caller)
		if client == nil {
			return unlink(result, "")
		}
		return unlink(result, client.ProtocolVersion)
	}
	caller.Can = client.Capabilities
	v := r.resume(req.Params)
	if v == nil && req.Params.RequestState != "" {
		return toolResult(
			bridge.Invalid("requestState: no run waits for this answer any more"), r.server.form(caller.Client),
		)
	}
	if v == nil {
		v = r.begin(req.Params.Arguments, caller, do)
	}
	defer v.report.begin(ctx, req)()
	return r.wait(ctx, v)
}

// askedBy has the client be asked so.
func askedBy(req *bridge.Request, ask inquiry.Responder) {
	if req.Respond = ask; elicits(req.Can) {
		req.Ask = approve(ask)
	}
}

// begin starts a run that may take several rounds.
func (r *rounds) begin(arguments []byte, from bridge.Request, do calling) *pendingCall {
	ctx, cancel := context.WithCancelCause(r.ctx)
	v := &pendingCall{cancel: cancel, done: make(chan mcp.Result, 1), asks: make(chan ask), report: &reporter{}}
	from.Progress, from.Printed = v.report.report, v.report.print
	r.work.Go(func() {
		defer cancel(nil)
		askedBy(&from, v.ask)
		v.done <- do(ctx, arguments, from)
	})
	return v
}

// ask gives a question to the round that waits, and waits for the answer that a later one brings.
func (v *pendingCall) ask(ctx context.Context, request mcp.InputRequest) (mcp.InputResponse, error) {
	a := ask{request, make(chan mcp.InputResponse, 1)}
	select {
	case v.asks <- a:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case answer := <-a.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// wait is a round: it ends with the run, or with what the run's user must be asked.
func (r *rounds) wait(ctx context.Context, v *pendingCall) mcp.Result {
	select {
	case result := <-v.done:
		return result
	case a := <-v.asks:
		return &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{questionID: a.request}, RequestState: r.park(v, a),
		}
	case <-ctx.Done():
		v.cancel(context.Cause(ctx))
		return <-v.done
	}
}

// park keeps a call until the client comes back. One that does not is given up, and its run with it.
func (r *rounds) park(v *pendingCall, a ask) (state string) {
	state = rand.Text()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parked[state] = &parked{v, a, time.AfterFunc(r.patience, func() {
		if p := r.take(state); p != nil {
			p.call.cancel(errNobodyCame)
		}
	})}
	return state
}

// take returns what is parked, once.
func (r *rounds) take(state string) *parked {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.parked[state]
	delete(r.parked, state)
	return p
}

// resume brings the user's answer to the run that waits for it. It returns nil where none does.
func (r *rounds) resume(p *mcp.CallToolParamsRaw) *pendingCall {
	waiting := r.take(p.RequestState)
	if waiting == nil {
		return nil
	}
	waiting.late.Stop()
	waiting.ask.answer <- p.InputResponses[questionID]
	return waiting.call
}

// traceParent is the span that a request says it is made in (SEP-414).
func traceParent(meta map[string]any) telemetry.Parent {
	parent, _ := meta["traceparent"].(string)
	state, _ := meta["tracestate"].(string)
	return telemetry.Parent{Traceparent: parent, Tracestate: state}
}
