//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

// asks are what a server may ask of its client in the middle of a call: as a request of its own, or, since revision
// 2026-07-28, in the place of the call's answer.
var asks = map[string]func() mcp.InputRequest{
	"elicitation/create":     func() mcp.InputRequest { return &mcp.ElicitParams{} },
	"sampling/createMessage": func() mcp.InputRequest { return &mcp.CreateMessageWithToolsParams{} },
	"roots/list":             func() mcp.InputRequest { return &mcp.ListRootsParams{} },
}

// About is what a question of a server's may be about: the contexts of all calls under way, or of the one that the
// connection has said it is.
type About struct {
	Calls []context.Context
	Said  bool
}

// StillAsks is how long a server may ask about a call that is over: of one that was left it need not have noticed.
const StillAsks = time.Minute

// parseAsked reads what a server asks. A form keeps the order of its fields.
func parseAsked(method string, params json.RawMessage) (mcp.InputRequest, error) {
	newRequest, ok := asks[method]
	if !ok {
		return nil, &jsonrpc.Error{
			Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("no client can be asked for %.60q", method),
		}
	}
	request := newRequest()
	if len(params) > 0 {
		if err := json.Unmarshal(params, request); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
	}
	if form, ok := request.(*mcp.ElicitParams); ok {
		form.RequestedSchema = nil
		if schema := gjson.GetBytes(params, "requestedSchema"); schema.IsObject() {
			form.RequestedSchema = json.RawMessage(schema.Raw)
		}
	}
	request.(interface{ SetMeta(map[string]any) }).SetMeta(nil) // it is between the server and codemode
	return request, nil
}

const (
	// maxOwed is how many requests of the server may be without an answer: the SDK keeps each until then.
	maxOwed = 1000
	// maxID is how long the id of one may be, and its method, in bytes: the answer has them, too.
	maxID = 1 << 10
)

// expectAnswer counts a message that the server wants an answer to. When there are too many, it stops the connection
// and says so.
func (c *calls) expectAnswer(msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return nil
	}
	enough := true
	c.update(func(st *callsState) {
		st.owed++
		enough = st.owed <= maxOwed
	})
	if enough {
		return nil
	}
	err := fmt.Errorf("the server left %d answers unread and kept asking, so it was stopped", maxOwed)
	c.stopFor(err)
	return err
}

// answered counts an answer to the server.
func (c *calls) answered() {
	c.update(func(st *callsState) { st.owed-- })
}

const (
	// maxWaiting bounds what the requests of one server take of memory that wait for their answers, in bytes: its user
	// is asked one after the other. A single one is bounded as a message.
	maxWaiting = 32 << 20
	// valueBytes is about what a value in a message takes once it is decoded.
	valueBytes = 64
)

// waits counts what waits for an answer, in bytes, until it is over. An error is one for which it must not.
func (c *calls) waits(size int) (over func(), err error) {
	c.update(func(st *callsState) {
		if st.waiting > 0 && st.waiting+size > maxWaiting {
			size, err = 0, errWaiting
		}
		st.waiting += size
	})
	return func() { c.update(func(st *callsState) { st.waiting -= size }) }, err
}

// requested deals with a message that is no answer, and returns what the SDK gets of it, and what that costs. As a
// question it takes so many bytes until it is answered.
func (c *calls) requested(
	req *jsonrpc.Request, text []byte, of *slot, size int,
) (msg jsonrpc.Message, cost time.Duration) {
	switch id, _ := req.ID.Raw().(string); {
	case len(id) > maxID, len(req.Method) > maxID:
		c.skip(text, fmt.Errorf("the id or the method of the server's request has more than %d bytes", maxID))
		return nil, costForSDK
	case req.IsCall() && asks[req.Method] != nil:
		if c.expectAnswer(req) == nil {
			c.asked(req, of, size)
		}
		return nil, costOfAsk[req.Method]
	case req.Method == "notifications/cancelled":
		c.withdrawn(req.Params)
	}
	return req, costForSDK
}

// asked has a request of the server's answered, which came with a call's answer still to come, or by itself: then it is
// for one of the calls under way. It takes so many bytes until then.
func (c *calls) asked(req *jsonrpc.Request, of *slot, size int) {
	ctx, cancel := context.WithCancelCause(c.life)
	id, method := req.ID, req.Method
	answer := func() (mcp.InputResponse, error) { return c.answerTo(ctx, req.Method, req.Params, of) }
	over, full := c.waits(size)
	if full != nil {
		answer = func() (mcp.InputResponse, error) { return nil, full } // and nothing of it is kept
	}
	begins := false
	c.update(func(st *callsState) {
		_, twice := st.asked[id.Raw()]
		if begins = !twice && !st.finished; !begins {
			return
		}
		st.asked[id.Raw()] = cancel
		c.work.Go(func() {
			defer cancel(nil)
			response := &jsonrpc.Response{ID: id}
			result, err := answer()
			if err == nil {
				response.Result, err = json.Marshal(result)
			}
			response.Error = wireErrorOf(err)
			over()
			c.update(func(st *callsState) { delete(st.asked, id.Raw()) })
			if err := c.reply(c.life, response); err != nil {
				c.log.Debug("answering the server", "method", method, "error", c.secrets().Error(plainly(err)))
			}
		})
	})
	if !begins {
		cancel(nil)
		over()
	}
}

var errWaiting = fmt.Errorf("the server's requests that wait for an answer take more than %d MiB", maxWaiting>>20)

// withdrawn ends the answering of a request that the server has cancelled.
func (c *calls) withdrawn(params json.RawMessage) {
	var p struct{ RequestID any }
	if json.Unmarshal(params, &p) != nil {
		return
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return
	}
	c.update(func(st *callsState) {
		if cancel := st.asked[id.Raw()]; cancel != nil {
			cancel(errors.New("the server has withdrawn its question"))
		}
	})
}

// wireErrorOf is an error as a server is told it.
func wireErrorOf(err error) error {
	var wire *jsonrpc.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wire):
		return wire
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// answerTo answers what a server asks. The calls that it may be for do not take too long meanwhile, and with the last
// of them it ends. Of those that were left, the first in the list, it may be for one, too.
func (c *calls) answerTo(
	ctx context.Context, method string, params json.RawMessage, of *slot,
) (mcp.InputResponse, error) {
	request, err := parseAsked(method, params)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := c.hold(of)
	defer c.release(slots, time.Now())
	left := atomic.Int64{}
	left.Store(int64(len(slots)))
	var contexts []context.Context
	if of == nil && len(slots) > 0 {
		c.update(func(st *callsState) { contexts = st.recentlyLeft() })
	}
	for _, s := range slots {
		contexts = append(contexts, s.ctx)
		defer context.AfterFunc(s.ctx, func() {
			if left.Add(-1) == 0 {
				cancel(context.Cause(s.ctx))
			}
		})()
	}
	return c.respond(ctx, About{contexts, of != nil}, request)
}

// hold returns the calls that a request of the server's may be for, which do not expire until they are released.
func (c *calls) hold(of *slot) (slots []*slot) {
	c.update(func(st *callsState) {
		for _, s := range st.slots {
			if of == nil || of == s {
				s.asking++
				slots = append(slots, s)
			}
		}
	})
	slices.SortFunc(slots, func(a, b *slot) int { return cmp.Compare(a.token, b.token) })
	return slots
}

func (c *calls) release(slots []*slot, since time.Time) {
	c.update(func(st *callsState) {
		for _, s := range slots {
			if s.asking--; s.asking == 0 {
				s.last = s.last.Add(time.Since(since))
				s.progress()
			}
			c.arm(st, s)
		}
	})
}

// RootsChanged tells the servers that run, and were told that they would hear of it, that the client has other roots.
func (p *Pool) RootsChanged() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers {
		s.update(func(st *serverState) {
			if st.live != nil {
				st.live.rootsChanged()
			}
		})
	}
}

// rootsChanged tells the server, unless it is of the newest revision, in which servers ask for roots as they need them.
func (sess *session) rootsChanged() {
	if !sess.tellsRoots || sess.speaksNewest() {
		return
	}
	c := sess.calls
	c.update(func(st *callsState) {
		if st.finished || st.broken {
			return
		}
		c.work.Go(func() {
			err := c.reply(c.life, &jsonrpc.Request{Method: "notifications/roots/list_changed"})
			if err != nil {
				c.log.Debug("telling the server that roots have changed", "error", c.secrets().Error(plainly(err)))
			}
		})
	})
}

// maxRounds is how often a server may answer a call with a question.
const maxRounds = 10

// inputRequired reports whether a call's answer is a question of the server's, by revision 2026-07-28.
func (sess *session) inputRequired(result json.RawMessage) bool {
	return sess.speaksNewest() && gjson.GetBytes(result, "resultType").String() == "input_required"
}

// speaksNewest says whether the server has agreed on newestProtocol.
func (sess *session) speaksNewest() bool {
	init := sess.client.InitializeResult()
	return init != nil && init.ProtocolVersion >= newestProtocol
}

// input answers the questions that stand in an answer, one after the other, but for those that have been.
func (sess *session) input(ctx context.Context, result json.RawMessage, been map[string]bool) (given, error) {
	g := given{state: gjson.GetBytes(result, "requestState").String()}
	var failed error
	gjson.GetBytes(result, "inputRequests").ForEach(func(id, request gjson.Result) bool {
		if been[id.String()] {
			return true
		}
		if len(id.String()) > maxID {
			failed = fmt.Errorf("what the server asked for has an id of more than %d bytes", maxID)
			return false
		}
		parsed, err := parseAsked(request.Get("method").String(), json.RawMessage(request.Get("params").Raw))
		var response mcp.InputResponse
		if err == nil {
			response, err = sess.calls.respond(ctx, About{Calls: []context.Context{ctx}, Said: true}, parsed)
		}
		if err != nil {
			failed = fmt.Errorf("what the server asked for was not answered: %w", err)
			return false
		}
		if g.responses == nil {
			g.responses = mcp.InputResponseMap{}
		}
		g.responses[id.String()] = response
		return true
	})
	return g, failed
}

// wantsURL reports whether a server has refused a call because its user must open a URL first, as revision 2025-11-25
// has it.
func wantsURL(err error) bool {
	var call *CallError
	return errors.As(err, &call) && call.Code == mcp.CodeURLElicitationRequired &&
		gjson.GetBytes(call.Data, "elicitations.0.url").Exists()
}

// maxURLs is how many URLs a user is asked to open for one call.
const maxURLs = 3

// openPatience is how long a call waits at most until its user has done what a URL was opened for. Servers need not say
// that (revision 2025-11-25: "Servers MAY send a notifications/elicitation/complete"), and code can call again.
const openPatience = 2 * time.Minute

// openFirst asks the user to open what a call was refused for. Without an error the server has said that it is done:
// the call, which it refused, can be made again. The error says what came of it otherwise, and what can be done.
func (sess *session) openFirst(ctx context.Context, refused error) error {
	var call *CallError
	errors.As(refused, &call)
	over, err := sess.calls.waits(len(call.Data))
	defer over()
	if err != nil {
		return call.wrapped(fmt.Errorf("%w (its user was not asked to open a URL: %w)", call.Err, err))
	}
	elicitations := gjson.GetBytes(call.Data, "elicitations").Array()
	done, forget := sess.calls.opening(elicitations)
	defer forget()
	for i, wanted := range elicitations {
		request, err := parseAsked("elicitation/create", json.RawMessage(wanted.Raw))
		var response mcp.InputResponse
		if err == nil && i >= maxURLs {
			err = fmt.Errorf("there are more than %d", maxURLs)
		}
		if err == nil {
			request.(*mcp.ElicitParams).Mode = "url"
			response, err = sess.calls.respond(ctx, About{Calls: []context.Context{ctx}, Said: true}, request)
		}
		if err == nil {
			err = disagreed(response)
		}
		if err != nil {
			return call.wrapped(fmt.Errorf("%w (its user was asked to open a URL: %w)", call.Err, err))
		}
	}
	const agreed = "its user was asked to open a URL, and has agreed to that; the call was not made, and can be when " +
		"it is done"
	if done == nil {
		return call.wrapped(fmt.Errorf("%w (%s)", call.Err, agreed))
	}
	sess.calls.told(ctx, Progress{Status: "input_required", Message: "waits until its user has opened a URL"})
	defer sess.server.pool.opts.Hold(ctx)()
	limit := cmp.Or(sess.server.config.CallTime, sess.server.pool.opts.CallTimeout, openPatience)
	late := time.NewTimer(min(limit, openPatience))
	defer late.Stop()
	for _, one := range done {
		select {
		case <-one:
		case <-late.C:
			return call.wrapped(fmt.Errorf("%w (%s: its server has not said so in time)", call.Err, agreed))
		case <-sess.calls.broken:
			return call.wrapped(fmt.Errorf("%w (%s, but its server has ended)", call.Err, agreed))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// disagreed says what a user has done who has not agreed, and what can be done about it.
func disagreed(response mcp.InputResponse) error {
	result, ok := response.(*mcp.ElicitResult)
	switch {
	case ok && result.Action == "accept":
		return nil
	case ok && result.Action == "decline":
		return errors.New("the user said no")
	}
	return errors.New("the user closed the question without an answer, and is asked again when code calls again")
}

// wrapped is the error with another text.
func (e *CallError) wrapped(err error) *CallError {
	other := *e
	other.Err = err
	return &other
}

// opening has the server's word awaited for each URL that is to be opened; done is nil where one of them has no name to
// be told by.
func (c *calls) opening(elicitations []gjson.Result) (done []chan struct{}, forget func()) {
	var ids []string
	c.update(func(st *callsState) {
		for _, e := range elicitations {
			id := e.Get("elicitationId").String()
			if id == "" || st.opening[id] != nil {
				done = nil
				return
			}
			ids = append(ids, id)
			st.opening[id] = make(chan struct{})
			done = append(done, st.opening[id])
		}
	})
	return done, func() {
		c.update(func(st *callsState) {
			for _, id := range ids {
				delete(st.opening, id)
			}
		})
	}
}

// opened is told that what a URL was to be opened for has happened.
func (c *calls) opened(id string) {
	c.update(func(st *callsState) {
		if one := st.opening[id]; one != nil {
			close(one)
			delete(st.opening, id)
		}
	})
}

// given is what a call is sent again with.
type given struct {
	responses mcp.InputResponseMap
	state     string
}
