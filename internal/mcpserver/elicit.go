//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/bridge"
	"codemode/internal/inquiry"
)

// decisions is the form in which a client asks its user. enumNames is what clients before revision 2025-11-25 show,
// and later ones still understand (MCP schema, LegacyTitledEnumSchema). The field is filled: Claude Code shows a
// required one as "not set", and takes six keys to set it (seen in November 2026).
func decisions(filled string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"decision":{"type":"string","title":"Allow",` +
		`"enum":["once","run","session","deny"],"default":"` + filled + `",` +
		`"enumNames":["this call","every call of this tool in this run",` +
		`"every call of this tool in this session","no"]}}}`)
}

// additions is the form for a server that is to be added. A yes must be chosen: the server may do whatever its user
// may.
var additions = json.RawMessage(`{"type":"object","properties":{"decision":{"type":"string","title":"Agree",` +
	`"enum":["no","add"],"default":"no","enumNames":["no","yes"]}}}`)

func elicitation(q bridge.Question) *mcp.ElicitParams {
	if q.Adding() {
		message := "Code in run_python " + q.Addition()
		return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: additions}
	}
	who := "Code in run_python"
	if q.Exposed {
		who = "The model"
	}
	message := fmt.Sprintf(
		"%s wants to call %s.%s with %s\nYou are asked because %s.", who, q.Server, q.Tool, q.Arguments, q.Why,
	)
	if unchosen(q) == deny {
		message += "\nTo allow it, choose so: to accept the form as it stands is a no."
	}
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: decisions(unchosen(q))}
}

// What is said of a call in the form.
const (
	once = "once"
	deny = "deny"
)

// unchosen is what it means to accept the form as it stands: a client may do so by itself, and a user from habit, which
// is no yes to what changes something or is not all shown.
func unchosen(q bridge.Question) string {
	if q.Choose {
		return deny
	}
	return once
}

// answer reads a user's decision.
func answer(q bridge.Question, r *mcp.ElicitResult) bridge.Answer {
	switch {
	case r != nil && r.Action == "cancel":
		return bridge.Dismissed
	case r == nil || r.Action != "accept":
		return bridge.No
	}
	decision := unchosen(q)
	if q.Adding() {
		decision = "no"
	}
	if chosen, ok := r.Content["decision"]; ok {
		decision, _ = chosen.(string)
	}
	if q.Adding() {
		return map[string]bridge.Answer{"add": bridge.Once}[decision]
	}
	return map[string]bridge.Answer{once: bridge.Once, "run": bridge.ForRun, "session": bridge.ForSession}[decision]
}

// approve has a client ask its user about a call.
func approve(ask inquiry.Responder) bridge.Asker {
	return func(ctx context.Context, q bridge.Question) (bridge.Answer, error) {
		response, err := ask(ctx, elicitation(q))
		if err != nil {
			return bridge.No, fmt.Errorf("the client did not ask its user: %w", err)
		}
		result, _ := response.(*mcp.ElicitResult)
		return answer(q, result), nil
	}
}

// cannotElicit is why nobody can be asked by a client.
const cannotElicit = "this client cannot ask its user (it does not offer MCP elicitation)"

// elicits reports whether a client shows forms to its user. One that offers elicitation and says no more does.
func elicits(c *inquiry.Capabilities) bool { return inquiry.Can(c, &mcp.ElicitParams{}) }

// unfit is in the SDK's error for an answer that its form does not take (v1.8.0), here or at the client. It quotes that
// answer, which is for the server alone.
const unfit = "elicitation result content does not match requested schema"

var (
	errUnfit     = errors.New("what the user has answered does not fit the form")
	errIllegible = errors.New("the client's answer cannot be read")
)

// withoutAnswer is an error without what the user has answered.
func withoutAnswer(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), unfit):
		return errUnfit
	case strings.Contains(err.Error(), "unmarshal"): // which quotes it, too
		return errIllegible
	}
	return err
}

// request has a client answer, by a request of ours to it.
func request(s *mcp.ServerSession) inquiry.Responder {
	return func(ctx context.Context, request inquiry.Request) (inquiry.Response, error) {
		switch p := request.(type) {
		case *mcp.ElicitParams:
			r, err := s.Elicit(ctx, p)
			return r, withoutAnswer(err)
		case *mcp.CreateMessageWithToolsParams:
			r, err := s.CreateMessageWithTools(ctx, p)
			return r, withoutAnswer(err)
		case *mcp.ListRootsParams:
			r, err := s.ListRoots(ctx, p)
			return r, withoutAnswer(err)
		}
		return nil, fmt.Errorf("no client can be asked for a %T", request)
	}
}
