package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"codemode/internal/catalog"
	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/policy"
)

// noToolError is a tool that its server does not list.
type noToolError struct{ server, tool, nearest string }

func (e *noToolError) Error() string {
	return fmt.Sprintf("server %q has no tool %+q", e.server, e.tool)
}

// hint ends a sentence about such a tool.
func (e *noToolError) hint() string {
	if e.nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %+q?", e.nearest)
}

// callable turns the name of a tool into what is known of it. There is no other way to one: a name counts byte for
// byte, and only if the server lists it now. It is asked once more for a name that it has not listed yet.
func (s *servers) callable(ctx context.Context, c config.Server, tool string) (call policy.Call, epoch int, err error) {
	for _, ask := range []func(context.Context, config.Server) (*known, error){s.current, s.again} {
		k, err := ask(ctx, c)
		if err != nil {
			return policy.Call{}, 0, err
		}
		if call, ok := k.calls[tool]; ok {
			return call, k.epoch, nil
		}
	}
	return policy.Call{}, 0, &noToolError{c.Name, tool, s.nearestTool(c, tool)}
}

func (s *servers) nearestTool(c config.Server, tool string) string {
	var names []string
	if g, ok := s.peek(c.Name); ok {
		for _, t := range g.Tools {
			names = append(names, t.Name)
		}
	}
	return catalog.Suggest(tool, names)
}

// sameJSON compares what is known, which is compact if it was kept, with what was sent.
func sameJSON(known, sent json.RawMessage) bool {
	var compact bytes.Buffer
	return bytes.Equal(known, sent) || json.Compact(&compact, sent) == nil && bytes.Equal(known, compact.Bytes())
}

// describe makes both forms of a server's documentation from the tool definitions it sent.
func (s *servers) describe(c config.Server, raw []json.RawMessage, shapes map[string]*catalog.Shape) *known {
	e, list := s.configured().entry(c), raw
	raw = slices.DeleteFunc(
		slices.Clone(raw), func(t json.RawMessage) bool { return !offers(c, gjson.GetBytes(t, "name").String()) },
	)
	docs := catalog.NewServer(e.Name, e.Alias, e.Description, raw).WithObserved(shapes)
	e.Loaded = true
	e.Tools = make([]guest.Tool, 0, len(docs.Tools))
	calls := make(map[string]policy.Call, len(docs.Tools))
	for _, t := range docs.Tools {
		calls[t.Name] = s.admission.rules.Prepare(policyCall(docs, t))
		e.Tools = append(e.Tools, s.judged(docs, t))
	}
	return &known{server: e, docs: docs, calls: calls, list: list}
}

// policyCall is a call of a tool as a policy sees it, but for what is known of each call alone.
func policyCall(server catalog.Server, t catalog.Tool) policy.Call {
	return policy.Call{
		Server: server.Name, Tool: t.Name, ServerAlias: server.Alias, ToolAlias: t.Alias,
		Hints: policy.Hints{ReadOnly: t.ReadOnly, Destructive: t.Destructive, OpenWorld: t.OpenWorld},
	}
}

// judged is a tool as the guest sees it, with what policy has to say of it.
func (s *servers) judged(server catalog.Server, t catalog.Tool) guest.Tool {
	g := guestTool(server.Alias, t)
	g.Policy = s.admission.noteOn(server, t)
	return g
}

func guestTool(server string, t catalog.Tool) guest.Tool {
	g := guest.Tool{
		Name: t.Name, Alias: t.Alias, Description: t.Description,
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
		Params: make([]guest.Param, 0, len(t.Params)), Extra: t.Extra,
		Returns: t.Returns, Wrapped: t.Wrapped, Signature: t.Signature,
		Call: catalog.Call(server, t),
	}
	if s := t.Summary(); s != t.Description {
		g.Summary = s
	}
	for _, p := range t.Params {
		g.Params = append(g.Params, guest.Param(p))
	}
	return g
}

// offers says whether the user lets a server's tool be used at all.
func offers(c config.Server, tool string) bool {
	return (c.ToolsAllow == nil || slices.Contains(c.ToolsAllow, tool)) && !slices.Contains(c.ToolsDeny, tool)
}
