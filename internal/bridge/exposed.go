package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"codemode/internal/audit"
	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/visible"
)

// exposed is a tool that clients see beside run_python, and call themselves.
type exposed struct {
	name       string // SERVER_TOOL in Python's names
	server     config.Server
	tool       string
	definition json.RawMessage // the server's own, but for the name
}

const (
	exposedSession = "exposed" // of the answers that hold for a session
	maxExposedName = 64        // what models' services take
)

// exposedTools are those that the patterns of expose name, policy lets pass and their servers list. Servers are started
// for it, and waited for as in a search.
func (b *Bridge) exposedTools(ctx context.Context) (list []exposed) {
	patterns := b.opts.Config.Expose
	if len(patterns) == 0 {
		return nil
	}
	set := b.servers.Configured()
	wanted := slices.DeleteFunc(
		slices.Clone(set.All), func(c config.Server) bool { return !slices.ContainsFunc(patterns, serverOf(c.Name)) },
	)
	slices.SortFunc(wanted, func(a, b config.Server) int { return strings.Compare(a.Name, b.Name) })
	known := b.servers.KnownOf(ctx, wanted)
	taken := map[string]bool{b.runPython().Name: true}
	for _, c := range wanted {
		k := known[c.Name]
		if k == nil {
			b.log.WarnContext(
				ctx, "tools are not exposed: their server does not start, or not in time", "server", c.Name,
			)
			continue
		}
		for _, t := range k.Docs.Tools {
			call := k.Calls[t.Name]
			if name := set.Alias[c.Name] + "_" + t.Alias; call.Matches(patterns) &&
				!b.admission.rules.Decide(call).Denied {
				if name = freeName(name, taken); name != "" {
					list = append(list, exposed{name, c, t.Name, renamed(k.List, t.Name, name)})
				}
			}
		}
	}
	return list
}

// serverOf says whether a pattern may be about a server's tools.
func serverOf(server string) func(pattern string) bool {
	return func(pattern string) bool {
		for i := range len(pattern) {
			if ok, _ := path.Match(pattern[:i], server); ok && pattern[i] == '.' {
				return true
			}
		}
		return !strings.Contains(pattern, ".") // readonly, and the like
	}
}

// freeName is a name that no other tool has; empty where it would be too long.
func freeName(name string, taken map[string]bool) string {
	for n, base := 2, name; taken[name]; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	if len(name) > maxExposedName {
		return ""
	}
	taken[name] = true
	return name
}

// renamed is a tool's definition as its server sent it, with another name in the place of its own.
func renamed(list []json.RawMessage, tool, name string) json.RawMessage {
	for _, raw := range list {
		if old := gjson.GetBytes(raw, "name"); old.Str == tool && old.Index > 0 {
			return slices.Concat(raw[:old.Index], mustJSON(name), raw[old.Index+len(old.Raw):])
		}
	}
	return nil
}

// addExposed has a server list the exposed tools, and pass on calls of them.
func (b *Bridge) addExposed(ctx context.Context, s *mcp.Server, calls *rounds) {
	if len(b.opts.Config.Expose) == 0 {
		return
	}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(run context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok && call.Params.Name != b.runPython().Name {
				all := b.exposedTools(run)
				if i := slices.IndexFunc(all, func(e exposed) bool { return e.name == call.Params.Name }); i >= 0 {
					return calls.handle(
						ctx,
						run,
						call,
						func(ctx context.Context, arguments json.RawMessage, from caller) mcp.Result {
							return b.callExposed(ctx, all[i], arguments, from)
						},
					), nil
				}
			}
			result, err := next(run, method, req)
			if listed, ok := result.(*mcp.ListToolsResult); ok && err == nil && listed.NextCursor == "" {
				return &withExposed{listed, b.exposedTools(run)}, nil
			}
			return result, err
		}
	})
}

// withExposed is a list of tools with definitions in it as servers have sent them.
type withExposed struct {
	*mcp.ListToolsResult
	more []exposed
}

func (l *withExposed) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(l.ListToolsResult)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	var tools []json.RawMessage
	if err := errors.Join(json.Unmarshal(text, &members), json.Unmarshal(members["tools"], &tools)); err != nil {
		return nil, err
	}
	for _, e := range l.more {
		tools = append(tools, e.definition)
	}
	members["tools"] = mustJSON(tools)
	return json.Marshal(members)
}

// verbatim is a result as a server has sent it.
type verbatim struct {
	*mcp.CallToolResult
	raw json.RawMessage
}

func (v *verbatim) MarshalJSON() ([]byte, error) { return v.raw, nil }

// callExposed is one call by the client itself. It is a run without code: policy, questions, lanes, audit log and
// telemetry are those of every call.
func (b *Bridge) callExposed(ctx context.Context, e exposed, arguments json.RawMessage, from caller) mcp.Result {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	c, err := guest.ParseToolCall(mustJSON(guest.ToolCall{Server: e.server.Name, Tool: e.tool, Arguments: arguments}))
	if err != nil {
		return failedCall(err.Error() + "; the call was not made")
	}
	r := b.exposedRun(from)
	ctx = withLogged(ctx, r.id, exposedSession)
	r.ctx, r.end = context.WithCancelCause(ctx)
	defer r.end(errRunOver)
	l := &live{bridge: b, session: exposedSession, ctx: r.ctx, run: r}
	r.record(audit.Record{Event: audit.RunBegins, Note: "a call by the client itself"})
	began := time.Now()
	out := Outcome{Status: StatusSuccess}
	result, no := l.direct(r.ctx, c)
	if no != "" {
		out.Status = StatusError
	}
	r.recordAnswered()
	r.recordEnd(&out, time.Since(began), b.opts.Config.Audit.Required)
	if no != "" {
		return failedCall(no)
	}
	return &verbatim{&mcp.CallToolResult{}, result}
}

// direct makes a call, or says why there is nothing to return.
func (l *live) direct(ctx context.Context, c guest.ToolCall) (result json.RawMessage, no string) {
	p, refused := l.admit(ctx, c)
	if refused == nil {
		raw, err := l.call(ctx, p, c)
		if err == nil {
			if withheld := l.checkResultSize(c, len(raw)); withheld != nil {
				return nil, withheld.message
			}
			return raw, ""
		}
		if !errors.As(err, &refused) {
			_, message, _ := explain(c.Server, c.Tool, causeOf(ctx, err))
			return nil, visible.Clip(message, maxText)
		}
	}
	l.refused(ctx, l.run, c, refused)
	return nil, refused.message + refused.data.Hint
}

// exposedRun is what such a call is booked on.
func (b *Bridge) exposedRun(from caller) *run {
	calls := newCallStats()
	r := &run{
		req: Request{
			Session: exposedSession, Ask: from.ask, Unasked: from.unasked, Client: from.client, Parent: from.parent,
			Respond: from.respond, Can: from.can, Progress: from.progress,
		},
		stats:   calls,
		said:    map[question]Answer{},
		clock:   newClock(0, b.admission.patience, calls.busySoFar),
		answers: b.exposedAnswers,
		id:      strings.ToLower(rand.Text()[:runIDLength]),
		tenant:  b.opts.Config.Tenant,
		log:     b.audit,
	}
	if b.opts.Config.Audit.Arguments == "full" {
		r.shown = b.shownArguments
	}
	return r
}

func failedCall(why string) mcp.Result {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: visible.Text(why)}}}
}
