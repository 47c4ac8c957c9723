package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"codemode/internal/catalog"
	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/policy"
	"codemode/internal/upstream"
)

// NoToolError is a tool that its server does not list.
type NoToolError struct {
	server, tool string
	nearest      func() string
}

func (e *NoToolError) Error() string {
	return fmt.Sprintf("server %q has no tool %+q", e.server, e.tool)
}

// Suggestion ends a sentence about such a tool. Of thousands it takes long to find the one that was meant.
func (e *NoToolError) Suggestion() string {
	nearest := e.nearest()
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %+q?", nearest)
}

// Listed is a tool as its server lists it: what a policy goes by, and the definition that this was made from.
type Listed struct {
	Call       policy.Call
	Definition json.RawMessage
	Epoch      int               // the version of the server's tools
	List       []json.RawMessage // all of them, as it sends them
}

// Callable turns the name of a tool into what is known of it. There is no other way to one: a name counts byte for
// byte, and only if the server lists it now. It is asked once more for a name that it has not listed yet.
func (s *Inventory) Callable(ctx context.Context, c config.Server, tool string) (Listed, error) {
	for _, ask := range []func(context.Context, config.Server) (*Known, error){s.current, s.Again} {
		k, err := ask(ctx, c)
		if err != nil {
			return Listed{}, err
		}
		if call, ok := k.Calls[tool]; ok {
			s.mu.Lock()
			defer s.mu.Unlock()
			return Listed{call, k.definitions[tool], k.Epoch, k.sent}, nil
		}
	}
	return Listed{}, &NoToolError{c.Name, tool, func() string { return s.nearestTool(c, tool) }}
}

// Listing is the tools of a server as it lists them now, and their version.
func (s *Inventory) Listing(ctx context.Context, c config.Server) (list []json.RawMessage, epoch int, err error) {
	k, err := s.current(ctx, c)
	if err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return k.sent, k.Epoch, nil
}

func (s *Inventory) nearestTool(c config.Server, tool string) string {
	var names []string
	if g, ok := s.peek(c.Name); ok {
		names = make([]string, 0, len(g.Tools))
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
func (s *Inventory) describe(c config.Server, raw []json.RawMessage, shapes map[string]*catalog.Shape) *Known {
	e, list := s.Configured().entry(c), raw
	raw = slices.DeleteFunc(slices.Clone(raw), func(t json.RawMessage) bool {
		name := gjson.GetBytes(t, "name").String()
		return !Offers(c, name) || upstream.IsMethod(name) // a yes to one must not be one to the other
	})
	docs := catalog.NewServer(e.Name, e.Alias, e.Description, raw).WithObserved(shapes)
	e.Loaded = true
	e.Tools = make([]guest.Tool, 0, len(docs.Tools))
	calls := make(map[string]policy.Call, len(docs.Tools))
	for _, t := range docs.Tools {
		calls[t.Name] = s.judge.Prepare(policyCall(docs, t, c))
		e.Tools = append(e.Tools, s.Tool(docs, t))
	}
	return &Known{Server: e, Docs: docs, Calls: calls, List: list, definitions: definitionsIn(list)}
}

// definitionsIn are the tools of a list by their names; of two with one name the first, as in a catalog.
func definitionsIn(list []json.RawMessage) map[string]json.RawMessage {
	definitions := make(map[string]json.RawMessage, len(list))
	for _, t := range slices.Backward(list) {
		if name := gjson.GetBytes(t, "name"); name.Type == gjson.String {
			definitions[name.Str] = t
		}
	}
	return definitions
}

// policyCall is a call of a tool as a policy sees it, but for what is known of each call alone.
// The server's other names are those of entries that are one with its own.
func policyCall(server catalog.Server, t catalog.Tool, c config.Server) policy.Call {
	return policy.Call{
		Server: server.Name, ServerNames: c.Names()[1:], Unread: c.Unread,
		Doubted:       slices.Collect(maps.Keys(c.Doubted)),
		ServerAliases: catalog.ServerAliases(server.Name, server.Alias, c.Names()[1:]...),
		Tool:          t.Name, ToolAliases: catalog.ToolAliases(t.Name, t.Alias),
		Hints: policy.Hints{ReadOnly: t.ReadOnly, Destructive: t.Destructive, OpenWorld: t.OpenWorld},
	}
}

// Tool is a tool as the guest sees it, with what policy has to say of it.
func (s *Inventory) Tool(server catalog.Server, t catalog.Tool) guest.Tool {
	g := GuestTool(server.Alias, t)
	g.Policy = s.Note(server, t)
	return g
}

// Note is what the policy says of a tool; empty where it may be called. A saved one is no server's: what it calls is
// judged when it does.
func (s *Inventory) Note(server catalog.Server, t catalog.Tool) string {
	if t.Caller != "" {
		return ""
	}
	c, _ := s.Configured().Named(server.Name)
	return s.judge.Note(policyCall(server, t, c))
}

// ListsTool says whether a server lists a tool, as far as is known.
func (s *Inventory) ListsTool(server, tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.known[server]
	if ok {
		_, ok = k.Calls[tool]
	}
	return ok
}

// GuestTool is a tool as the guest sees it, but for the policy.
func GuestTool(server string, t catalog.Tool) guest.Tool {
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

// Offers says whether the user lets a server's tool be used at all.
func Offers(c config.Server, tool string) bool {
	return (c.ToolsAllow == nil || slices.Contains(c.ToolsAllow, tool)) && !slices.Contains(c.ToolsDeny, tool)
}

// RecalledTool is a server's tool, by its name or its alias, as it was when the server was last asked.
func (s *Inventory) RecalledTool(c config.Server, name string) (tool guest.Tool, listed, found bool) {
	g, ok := s.peek(c.Name)
	if !ok {
		k := s.recall(c)
		if k == nil {
			return tool, false, false
		}
		g = k.Server
	}
	for _, t := range g.Tools {
		if t.Name == name || t.Alias == name && !found {
			tool, found = t, true
		}
	}
	return tool, true, found
}
