//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

// Package inquiry is what servers ask in the middle of calls: elicitation, sampling and roots of MCP.
//
// It owns what such a request and its answer are, which of them a client can answer, and how they are shown to a
// person. It asks nobody by itself, decides nothing about policy, and holds nothing that must be closed.
package inquiry

import (
	"context"
	"math"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/visible"
)

// What a server asks, what a client answers, and what a client has said that it can answer: as MCP has them.
type (
	Request      = mcp.InputRequest
	Response     = mcp.InputResponse
	Capabilities = mcp.ClientCapabilities
)

// A Responder has a client answer what a server asks in the middle of a call. Its error is why there is no answer.
type Responder func(context.Context, Request) (Response, error)

// InTurn asks for one thing at a time, however much servers ask.
func InTurn(ask Responder) Responder {
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, request Request) (Response, error) {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		defer func() { <-turn }()
		return ask(ctx, request)
	}
}

// ID is an id of a server's as its client has it: others may give the same. A client may show it, so it is one line of
// what a reader sees.
func ID(server, id string) string {
	if id == "" {
		return ""
	}
	return server + "/" + visible.Line(id)
}

// Offer is what servers are told as they start: that they may ask for what the client can answer.
func Offer(can *Capabilities) *Capabilities {
	offer := &mcp.ClientCapabilities{}
	if can == nil {
		return offer
	}
	if can.RootsV2 != nil {
		offer.RootsV2 = &mcp.RootCapabilities{ListChanged: can.RootsV2.ListChanged}
	}
	if offer.Sampling = can.Sampling; can.Elicitation != nil {
		e := *can.Elicitation
		if e.URL == nil {
			e.Form = &mcp.FormElicitationCapabilities{} // a client from before elicitation by URL
		}
		offer.Elicitation = &e
	}
	return offer
}

// Can reports whether a client has said that it answers such a request.
func Can(c *Capabilities, request Request) bool {
	if c == nil {
		return false
	}
	switch p := request.(type) {
	case *mcp.ListRootsParams:
		return c.RootsV2 != nil
	case *mcp.ElicitParams:
		e := c.Elicitation
		return e != nil && (isURL(p) && e.URL != nil || !isURL(p) && (e.Form != nil || e.URL == nil))
	case *mcp.CreateMessageWithToolsParams:
		tools := len(p.Tools) > 0 || p.ToolChoice != nil
		return c.Sampling != nil && (c.Sampling.Tools != nil || !tools)
	}
	return c.Sampling != nil
}

func isURL(p *mcp.ElicitParams) bool { return p.Mode == "url" || p.Mode == "" && p.URL != "" }

// Describe is what a server asks for, in words, and the code of the error that says that the client cannot do
// that.
func Describe(request Request) (words string, code int64) {
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

// IsElicitation reports whether a user is asked, for a form or a URL.
func IsElicitation(request Request) bool {
	_, ok := request.(*mcp.ElicitParams)
	return ok
}

// IsRoots reports whether a client is asked for its folders, which needs nobody's consent.
func IsRoots(request Request) bool {
	_, ok := request.(*mcp.ListRootsParams)
	return ok
}

// URLID is the id of the URL that a user is to open, as presentable has it; empty where there is none.
func URLID(request Request) string {
	if p, ok := request.(*mcp.ElicitParams); ok {
		return p.ElicitationID
	}
	return ""
}

// Action is what a user has done about an elicitation: accept, decline or cancel. Empty where it was none.
func Action(response Response) string {
	if r, ok := response.(*mcp.ElicitResult); ok && r != nil {
		return r.Action
	}
	return ""
}

// Cancelled is the answer to an elicitation that its user was not shown or has closed, which servers expect.
func Cancelled() Response { return &mcp.ElicitResult{Action: "cancel"} }

// CodeRefused is of the codes that JSON-RPC leaves to servers; none that makes a client try another way.
const CodeRefused = -32000

// Refusal is the error that a server gets instead of an answer.
func Refusal(code int64, message string) error {
	return &jsonrpc.Error{Code: code, Message: message}
}

// Invalid is the error for a request that cannot be shown to anybody.
func Invalid(err error) error { return Refusal(jsonrpc.CodeInvalidParams, err.Error()) }

// maxExact is how large a number may be that a client answers: a whole one beyond it has become another.
const maxExact = 1<<53 - 1

// IsAnswer reports whether an answer is to such a request. What is between client and codemode is taken out of it.
func IsAnswer(request Request, response Response) (ok bool) {
	switch r := response.(type) {
	case *mcp.ElicitResult:
		_, ok = request.(*mcp.ElicitParams)
		ok = ok && (r.Action == "accept" || r.Action == "decline" || r.Action == "cancel")
		if r.Meta = nil; r.Action != "accept" {
			r.Content = nil // what was typed before the no is not the server's
		}
		for _, value := range r.Content {
			number, _ := value.(float64) // the SDK has made one of what a client sent (v1.8.0)
			ok = ok && math.Abs(number) <= maxExact
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
