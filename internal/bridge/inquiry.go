//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/guest"
	"codemode/internal/visible"
)

// A Responder has a client answer what a server asks in the middle of a call. Its error is why there is no answer.
type Responder func(context.Context, mcp.InputRequest) (mcp.InputResponse, error)

// approve asks the user about a call.
func (ask Responder) approve(ctx context.Context, q Question) (Answer, error) {
	response, err := ask(ctx, elicitation(q))
	if err != nil {
		return No, fmt.Errorf("the client did not ask its user: %w", err)
	}
	result, _ := response.(*mcp.ElicitResult)
	return answer(result), nil
}

// inTurn asks for one thing at a time, however much servers ask.
func inTurn(ask Responder) Responder {
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, request mcp.InputRequest) (mcp.InputResponse, error) {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		defer func() { <-turn }()
		return ask(ctx, request)
	}
}

// client is the MCP client that a bridge serves, as far as it is known.
type client struct {
	can   *mcp.ClientCapabilities
	roots Responder // asks it for its roots at any time; nil where it can be asked in a call alone

	// done tells it that what a URL was to be opened for has happened; nil where it does not want to know.
	done func(context.Context, *mcp.ElicitationCompleteParams) error
	mu   sync.Mutex
	open map[string]bool // the ids of URLs that its user has agreed to open
}

// maxOpen is how many URLs are remembered that a user was to open.
const maxOpen = 100

// opens notes a URL that the user has agreed to open.
func (b *Bridge) opens(id string) {
	if c := b.client.Load(); c != nil && c.done != nil && id != "" {
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
	c, id := b.client.Load(), elicitationID(server, id)
	if c == nil {
		return
	}
	c.mu.Lock()
	known := c.open[id]
	delete(c.open, id)
	c.mu.Unlock()
	if known {
		if err := c.done(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id}); err != nil {
			b.log.DebugContext(ctx, "telling the client that a URL was opened", "server", server, "error", err)
		}
	}
}

// elicitationID is an id of a server's as its client has it: others may give the same.
func elicitationID(server, id string) string {
	if id == "" {
		return ""
	}
	return server + "/" + id
}

// offers is what servers are told as they start: that they may ask for what the client can answer.
func (b *Bridge) offers() *mcp.ClientCapabilities {
	offer := &mcp.ClientCapabilities{}
	c := b.client.Load()
	if c == nil || c.can == nil {
		return offer
	}
	if c.can.RootsV2 != nil {
		offer.RootsV2 = &mcp.RootCapabilities{} // nobody tells servers of changes
	}
	if offer.Sampling = c.can.Sampling; c.can.Elicitation != nil {
		e := *c.can.Elicitation
		if e.URL == nil {
			e.Form = &mcp.FormElicitationCapabilities{} // all that there was before there were URLs
		}
		offer.Elicitation = &e
	}
	return offer
}

// can reports whether a client has said that it answers such a request.
func can(c *mcp.ClientCapabilities, request mcp.InputRequest) bool {
	if c == nil {
		return false
	}
	switch p := request.(type) {
	case *mcp.ListRootsParams:
		return c.RootsV2 != nil
	case *mcp.ElicitParams:
		e := c.Elicitation
		return e != nil && (isURL(p) && e.URL != nil || !isURL(p) && (e.Form != nil || e.URL == nil))
	}
	return c.Sampling != nil
}

func isURL(p *mcp.ElicitParams) bool { return p.Mode == "url" || p.Mode == "" && p.URL != "" }

// describeRequest is what a server asks for, in words, and the code of the error that says that the client cannot do
// that.
func describeRequest(request mcp.InputRequest) (words string, code int64) {
	switch p := request.(type) {
	case *mcp.ListRootsParams:
		return "for the client's folders (roots/list)", jsonrpc.CodeMethodNotFound
	case *mcp.ElicitParams:
		if isURL(p) {
			return "its user to open a URL (elicitation/create)", jsonrpc.CodeInvalidParams
		}
		return "its user to fill in a form (elicitation/create)", jsonrpc.CodeInvalidParams
	}
	return "for the client's model (sampling/createMessage)", jsonrpc.CodeMethodNotFound
}

// underWay is a call while its server works on it.
type underWay struct {
	live  *live
	run   *run
	call  guest.ToolCall
	entry *entry // in the run's callStats
}

type underWayKey struct{}

func callIn(ctx context.Context) *underWay {
	u, _ := ctx.Value(underWayKey{}).(*underWay)
	return u
}

// answerServer answers what a server asks while it works on calls. It is asked in the name of a run: where it may be
// that of another, nobody is.
func (b *Bridge) answerServer(
	ctx context.Context, server string, calls []context.Context, request mcp.InputRequest,
) (mcp.InputResponse, error) {
	if _, ok := request.(*mcp.ListRootsParams); ok {
		if c := b.client.Load(); c != nil && c.can.RootsV2 != nil && c.roots != nil {
			return c.roots(ctx, request)
		}
	}
	wanted, code := describeRequest(request)
	var of *underWay
	several := false
	for _, c := range calls {
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
		code = codeRefused
	case of.run.req.Respond == nil || !can(of.run.req.Can, request):
		why = of.run.cannot()
	}
	if why != "" {
		for _, c := range calls {
			if u := callIn(c); u != nil {
				u.run.refuses(server, wanted, why)
			}
		}
		return nil, &jsonrpc.Error{Code: code, Message: "codemode did not ask " + wanted + ": " + why}
	}
	if len(calls) > 1 {
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

// refuses notes that a server has asked in vain.
func (r *run) refuses(server, wanted, why string) {
	r.tellOnce(fmt.Sprintf("server %s asked %s, and was refused: %s", visible.Name(server), wanted, why))
}

// inquire has the run's client answer. What its user may have to do comes in turn with the questions about calls,
// counts as one of them, and has as much time.
func (u *underWay) inquire(
	ctx context.Context, server, tool string, request mcp.InputRequest,
) (mcp.InputResponse, error) {
	wanted, _ := describeRequest(request)
	shown, err := presentable(server, tool, request)
	if err != nil {
		u.run.refuses(server, wanted, err.Error())
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	var response mcp.InputResponse
	if _, ok := request.(*mcp.ListRootsParams); ok {
		response, err = u.run.req.Respond(ctx, shown)
	} else {
		err = u.live.withUser(ctx, u.run, func() error {
			response, err = u.askNow(ctx, server, tool, shown)
			return err
		})
	}
	if err == nil && !isAnswer(request, response) {
		err = errors.New("the client's answer is none to that")
	}
	if err == nil {
		if r, ok := response.(*mcp.ElicitResult); ok && r.Action == "accept" {
			u.live.bridge.opens(shown.(*mcp.ElicitParams).ElicitationID)
		}
		return response, nil
	}
	u.run.refuses(server, wanted, err.Error())
	if _, ok := request.(*mcp.ElicitParams); ok && ctx.Err() == nil {
		return &mcp.ElicitResult{Action: "cancel"}, nil // which servers expect of users
	}
	return nil, err
}

// askNow has the client answer what its user may have to do something for. The caller has the turn.
func (u *underWay) askNow(
	ctx context.Context, server, tool string, request mcp.InputRequest,
) (response mcp.InputResponse, err error) {
	if err := u.live.mayAsk(u.run); err != nil {
		return nil, err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, u.live.bridge.admission.patience, errUnanswered)
	defer cancel()
	if response, err = u.run.req.Respond(ctx, request); err != nil {
		err = causeOf(ctx, err)
	}
	u.run.recordAsked(server, tool, request, response, err, time.Since(began))
	return response, err
}

// isAnswer reports whether an answer is to such a request. What is between client and codemode is taken out of it.
func isAnswer(request mcp.InputRequest, response mcp.InputResponse) (ok bool) {
	switch r := response.(type) {
	case *mcp.ElicitResult:
		_, ok = request.(*mcp.ElicitParams)
		ok = ok && (r.Action == "accept" || r.Action == "decline" || r.Action == "cancel")
		if r.Meta = nil; r.Action != "accept" {
			r.Content = nil // what was typed before the no is not the server's
		}
	case *mcp.ListRootsResult:
		_, ok = request.(*mcp.ListRootsParams)
		r.Meta = nil
	case *mcp.CreateMessageWithToolsResult:
		_, ok = request.(*mcp.CreateMessageWithToolsParams)
		r.Meta = nil
	}
	return ok
}
