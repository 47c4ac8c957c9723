package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"codemode/internal/guest"
	"codemode/internal/servers"
	"codemode/internal/upstream"
	"codemode/internal/visible"
)

// dispatch does what the guest asks, and returns the answer or why there is none. Who calls it writes the answer, so
// that a guest that does not read holds up only its answers.
func (l *live) dispatch(ctx context.Context, t *task, m guest.Message) (json.RawMessage, *refusal) {
	result, no := l.route(ctx, t, m)
	if l.sentPaths.any() {
		result = l.unresolve(m.Method, result, no)
	}
	return result, no
}

// unresolve replaces the host's paths in an answer, which counts as decoding does.
func (l *live) unresolve(method string, result json.RawMessage, no *refusal) json.RawMessage {
	done, began := l.decode(len(result)), time.Now()
	if no != nil {
		l.sentPaths.unresolveRefusal(no)
	} else if repeats(method) {
		result = l.sentPaths.unresolveJSON(result)
	}
	done()
	l.took(afterDecoding * time.Since(began))
	return result
}

// route passes a request to its handler. A method must also be listed in handle (live.go), which ends a guest that
// sends any other. Answers may still have the host's paths of artifacts, which dispatch replaces.
func (l *live) route(ctx context.Context, t *task, m guest.Message) (json.RawMessage, *refusal) {
	switch m.Method {
	case guest.MethodToolCall:
		return l.toolCall(ctx, t, m)
	case guest.MethodRequest:
		return l.serverRequest(ctx, t, m)
	case guest.MethodSubscribe:
		return l.subscribe(ctx, t, m)
	case guest.MethodUpdates:
		return l.updates(ctx, t, m)
	case guest.MethodServers:
		return l.configured(ctx, t)
	case guest.MethodServer:
		return l.describe(ctx, t, m)
	case guest.MethodStdin:
		return l.stdin()
	case guest.MethodSave:
		return l.saveTool(ctx, m)
	case guest.MethodSaved:
		return l.savedTools(ctx, t, m)
	case guest.MethodAddServer:
		return l.addServer(ctx, m)
	case guest.MethodPackages:
		return l.addPackages(ctx, m)
	case guest.MethodArtifacts:
		return l.artifacts(ctx, t, m)
	case guest.MethodSearch:
		return l.search(ctx, t, m)
	}
	return nil, refuse(-32601, "unknown method "+visible.Name(m.Method), guest.ErrorData{})
}

// refuse is the refusal of a request that is no call.
func refuse(code int, message string, data guest.ErrorData) *refusal {
	return &refusal{code: code, message: message, data: data}
}

// cancelled is the answer to a request that was ended before the host began with it.
func cancelled(err error) *refusal {
	return refuse(guest.CodeCancelled, err.Error(), guest.ErrorData{})
}

// What a request may ask with. Arguments are bounded by the message alone.
const (
	maxAskedName = 512     // bytes of a server's or a tool's name
	maxQuery     = 4 << 10 // bytes of a search
)

// tooLong refuses, before anything is done with it, what cannot be meant.
func tooLong(method, what, text string, limit int) *refusal {
	message := fmt.Sprintf("%s: the %s has %d bytes; at most %d are allowed", method, what, len(text), limit)
	return refuse(-32602, message, guest.ErrorData{})
}

// toolCall calls a tool. The result travels as the server sent it.
func (l *live) toolCall(ctx context.Context, t *task, m guest.Message) (json.RawMessage, *refusal) {
	done := l.parse(len(m.Params))
	c, err := guest.ParseToolCall(m.Params)
	done()
	if err != nil {
		return nil, refuse(-32602, "tools/call: "+err.Error()+"; the call was not made", guest.ErrorData{})
	}
	switch {
	case len(c.Server) > maxAskedName:
		return nil, tooLong("tools/call", "server's name", c.Server, maxAskedName)
	case len(c.Tool) > maxAskedName:
		return nil, tooLong("tools/call", "tool's name", c.Tool, maxAskedName)
	}
	if c.Progress {
		ctx = l.withTeller(ctx, m.ID)
	}
	c, no := l.resolve(c)
	if no != nil {
		return nil, no
	}
	p, no := l.admit(ctx, c)
	return l.perform(ctx, t, c, p, no)
}

// serverRequest sends a server a request that is no call of a tool. It is judged, counted and logged as one, by the
// method's name in the place of a tool's.
func (l *live) serverRequest(ctx context.Context, t *task, m guest.Message) (json.RawMessage, *refusal) {
	done := l.parse(len(m.Params))
	c, request, err := parseRequest(m.Params)
	done()
	if err != nil {
		return nil, refuse(-32602, err.Error()+"; nothing was sent", guest.ErrorData{})
	}
	if len(c.Server) > maxAskedName {
		return nil, tooLong("request", "server's name", c.Server, maxAskedName)
	}
	p, no := l.admitRequest(ctx, c, func(ctx context.Context) (json.RawMessage, error) {
		return l.bridge.pool.Request(ctx, c.Server, request)
	})
	return l.perform(ctx, t, c, p, no)
}

// parseRequest reads the parameters of a request: as a call, whose arguments are what is sent, and for the server.
func parseRequest(params json.RawMessage) (c guest.ToolCall, r upstream.Request, err error) {
	var q guest.ServerRequest
	if err := json.Unmarshal(params, &q); err != nil {
		return c, r, fmt.Errorf("request: %w", err)
	}
	if len(q.Params) > 0 {
		if q.Params, err = guest.Canonical(q.Params); err != nil {
			return c, r, fmt.Errorf("params of %.60q: %w", q.Method, err)
		}
	}
	if r, err = upstream.NewRequest(q.Method, q.Params); err != nil {
		return c, r, err
	}
	arguments, err := guest.Canonical(r.Params())
	return guest.ToolCall{Server: q.Server, Tool: r.Method(), Arguments: arguments}, r, err
}

// perform makes an admitted call and returns its answer, or that of the refusal.
func (l *live) perform(
	ctx context.Context, t *task, c guest.ToolCall, p permit, no *refusal,
) (json.RawMessage, *refusal) {
	if no != nil {
		if r := l.currentRun(); r != nil {
			l.refused(ctx, r, c, no)
		}
		return nil, no
	}
	result, err := l.call(ctx, p, c)
	if errors.As(err, &no) {
		l.refused(ctx, p.run, c, no)
		return nil, no
	}
	t.recording = p.run
	return l.answerCall(ctx, t, c, result, err)
}

// answerCall is the answer to a call that was made.
func (l *live) answerCall(
	ctx context.Context, t *task, c guest.ToolCall, result json.RawMessage, err error,
) (json.RawMessage, *refusal) {
	if err == nil {
		if no := l.checkResultSize(c, len(result)); no != nil {
			return nil, no
		}
		err = t.hold(len(result))
	} else {
		err = causeOf(ctx, err)
	}
	if err != nil {
		code, message, data := l.bridge.explain(c.Server, c.Tool, err)
		if no := l.checkResultSize(c, len(message)+len(data.Data)); no != nil {
			return nil, no
		}
		if t.hold(len(message)+len(data.Data)) != nil {
			message, data.Data = visible.Clip(message, maxText), nil
		}
		return nil, refuse(code, message, data)
	}
	return result, nil
}

// call makes a call that may be made.
func (l *live) call(ctx context.Context, p permit, c guest.ToolCall) (json.RawMessage, error) {
	leave, err := l.bridge.admission.lanesOf(c.Server).enter(ctx, l.session, len(c.Arguments))
	if err != nil {
		return nil, l.bridge.refusedFor(ctx, c, err)
	}
	defer leave()
	l.placed(p.run, c.Server)
	defer l.bridge.admission.lanesOf(c.Server).uses(p.run.answers)()
	u := &activeCall{live: l, run: p.run, call: c, permit: p, tell: tellerIn(ctx)}
	if no := u.recordBegin(); no != nil {
		return nil, no
	}
	if u.entry = p.run.stats.begin(c.Server, c.Tool, c.AsWritten(), p.reads); u.entry == nil {
		u.recordEnd(callUnsent, 0)
		return nil, errRunOver
	}
	began := time.Now()
	told, span := l.beginCall(context.WithValue(ctx, activeCallKey{}, u), c, p)
	p.run.calling(c, Called)
	result, err := u.send(told)
	p.run.calling(c, "")
	how := p.run.stats.ending(u.entry, result, err)
	l.endCall(ctx, span, c, how, err, time.Since(began))
	p.run.stats.end(u.entry, how, len(result))
	u.recordEnd(how, len(result))
	if err == nil && p.tool {
		l.bridge.lists.Saw(c.Server, c.Tool, l.sentPaths.unresolveJSON(result))
	}
	return result, err
}

// placed tells a run's placement where a call goes. A server that another session uses is left where it is.
func (l *live) placed(r *run, server string) {
	pid := 0
	if !l.bridge.admission.lanesOf(server).calls.Crowded(l.session) {
		pid = l.bridge.pool.Process(server)
	}
	r.placement.to(pid)
}

// unrecorded is the refusal of a call that audit.required forbids, because its line cannot be written to the audit log.
func unrecorded(c guest.ToolCall) *refusal {
	message := fmt.Sprintf(
		"policy denies %s.%s: the audit log cannot be written, and audit.required is set", c.Server, c.Tool,
	)
	data := guest.ErrorData{Server: c.Server, Tool: c.Tool, Rule: "audit.required"}
	return &refusal{guest.CodeDenied, message, data, callDenied}
}

// causeOf prefers the reason a context ended over what its end made fail.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// mayCall reports whether the run under way may call a server.
func (l *live) mayCall(server string) (*run, bool) {
	r := l.currentRun()
	if r == nil {
		return nil, false
	}
	c, ok := l.bridge.servers.Find(server)
	if !ok || c.Name != server {
		return nil, false
	}
	if r.req.Servers == nil {
		return r, true
	}
	for _, name := range r.req.Servers {
		if s, ok := l.bridge.servers.Find(name); ok && s.Name == server {
			return r, true
		}
	}
	return nil, false
}

// whyNot ends a sentence about a server that the run under way may not call.
func (l *live) whyNot(server string) string {
	if c, ok := l.bridge.servers.Find(server); !ok || c.Name != server {
		return l.bridge.nearest(server)
	}
	r := l.currentRun()
	if r == nil {
		return "; no run is under way"
	}
	return "; this run was given " + strings.Join(r.req.Servers, ", ")
}

// currentRun is the run under way, nil between runs.
func (l *live) currentRun() *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run
}

// configured answers with all servers, where the guest was told that they come later. Its run names none, or they would
// have been looked for.
func (l *live) configured(ctx context.Context, t *task) (json.RawMessage, *refusal) {
	l.bridge.servers.Configured()
	l.mu.Lock()
	clear(l.told)
	l.toldUnusable = nil
	l.mu.Unlock()
	return l.respondOwn(ctx, t, func() any { return cmp.Or(l.catalog(nil), &guest.CatalogUpdate{}) })
}

// describe answers with one server and its tools, starting it when needed.
func (l *live) describe(ctx context.Context, t *task, m guest.Message) (json.RawMessage, *refusal) {
	var q guest.ServerQuery
	if err := json.Unmarshal(m.Params, &q); err != nil {
		return nil, refuse(-32602, "server: "+err.Error(), guest.ErrorData{})
	}
	if len(q.Server) > maxAskedName {
		return nil, tooLong("server", "server's name", q.Server, maxAskedName)
	}
	c, ok := l.bridge.servers.Find(q.Server)
	r, may := l.mayCall(c.Name)
	if !ok || q.Load && !may {
		code, message, data := unavailable(q.Server, l.whyNot(q.Server))
		return nil, refuse(code, message, data)
	}
	if may && r.failed[c.Name] != nil {
		code, message, data := l.bridge.explain(c.Name, "", r.failed[c.Name])
		return nil, refuse(code, message, data)
	}
	ask := l.bridge.servers.Know
	if q.Fresh {
		ask = l.bridge.servers.Again
	}
	var k *servers.Known
	err := l.withSignIn(ctx, l.currentRun(), c.Name, func() (err error) {
		k, err = ask(ctx, c)
		return err
	})
	if err != nil {
		code, message, data := l.bridge.explain(c.Name, "", causeOf(ctx, err))
		return nil, refuse(code, message, data)
	}
	if q.Load {
		l.mu.Lock()
		l.told[c.Name] = servers.Version{Known: true, Loaded: true, Epoch: k.Epoch}
		l.mu.Unlock()
	}
	return l.respondOwn(ctx, t, func() any { return k.Entry(q.Load) })
}

// search answers with the tools that fit best. A run is told of the servers that were left out.
func (l *live) search(ctx context.Context, t *task, m guest.Message) (json.RawMessage, *refusal) {
	var q guest.SearchQuery
	if err := json.Unmarshal(m.Params, &q); err != nil {
		return nil, refuse(-32602, "search: "+err.Error(), guest.ErrorData{})
	}
	if len(q.Query) > maxQuery {
		return nil, tooLong("search", "query", q.Query, maxQuery)
	}
	missed := l.bridge.servers.LoadEvery(ctx)
	if r := l.currentRun(); r != nil {
		for _, note := range missed {
			r.addNote(l.sentPaths.unresolve(note))
		}
	}
	return l.respondOwn(ctx, t, func() any { return l.bridge.searchFor(q) })
}

// maxInput bounds one piece of the caller's input.
const maxInput = 32 << 10

// stdin answers with the next piece of the caller's input. It waits for one as long as the guest lives: what is read
// for a run that has ended is the next one's.
func (l *live) stdin() (json.RawMessage, *refusal) {
	in := l.box.Input()
	if in == nil {
		return nil, refuse(-32601, "stdin: descriptor 0 carries the input, if there is any", guest.ErrorData{})
	}
	select {
	case <-l.reading:
	case <-l.ctx.Done():
		return nil, cancelled(context.Cause(l.ctx))
	}
	defer func() { l.reading <- struct{}{} }()
	buf := make([]byte, maxInput)
	n, err := in.Read(buf)
	if n == 0 && err != nil { // whatever ended it, there is no more
		return json.RawMessage(`{"eof":true}`), nil
	}
	piece, err := json.Marshal(guest.Stdin{Base64: buf[:n]})
	if err != nil {
		return nil, refuse(-32603, err.Error(), guest.ErrorData{})
	}
	return piece, nil
}

// respondOwn is an answer that the host makes itself, when it is its turn: such answers may be large, and none of them
// waits for anything but the guest. One that is JSON already is sent as it is.
func (l *live) respondOwn(
	ctx context.Context, t *task, answer func() any,
) (json.RawMessage, *refusal) {
	err := t.describe(ctx)
	if err == nil {
		err = l.pace.Wait(ctx, paceAhead)
	}
	if err != nil {
		return nil, cancelled(err)
	}
	done := l.answering()
	made := answer()
	result, isJSON := made.(json.RawMessage)
	if !isJSON {
		result, err = json.Marshal(made)
	}
	done()
	if err == nil {
		err = t.hold(len(result))
	}
	if err != nil {
		return nil, refuse(-32603, err.Error(), guest.ErrorData{})
	}
	return result, nil
}
