package bridge

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"codemode/internal/audit"
	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/lazyregexp"
	"codemode/internal/policy"
	"codemode/internal/visible"
)

// Exposed is a tool that clients see beside run_python, and call themselves.
type Exposed struct {
	Name       string          // see exposedName
	Definition json.RawMessage // the server's own, but for the name
	server     config.Server
	tool       string
}

const exposedSession = "exposed" // of the answers that hold for a session

// Exposed are the tools that the patterns of expose name, policy lets pass and their servers list. Servers are started
// for it, and waited for as in a search.
func (b *Bridge) Exposed(ctx context.Context) (list []Exposed) {
	patterns := b.opts.Config.Expose
	if len(patterns) == 0 {
		return nil
	}
	set := b.servers.Configured()
	wanted := slices.DeleteFunc(slices.Clone(set.All), func(c config.Server) bool {
		return len(policy.Idle(patterns, c.Names())) == len(patterns) // none could be about its tools
	})
	slices.SortFunc(wanted, func(a, b config.Server) int { return strings.Compare(a.Name, b.Name) })
	known := b.servers.KnownOf(ctx, wanted)
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
			if call.Matches(patterns) && !b.admission.rules.Decide(call).Denied {
				name := exposedName(c.Name, t.Name)
				list = append(list, Exposed{name, renamed(k.List, t.Name, name), c, t.Name})
			}
		}
	}
	return list
}

const maxExposedName = 64 // what models' services take

// plainServer and plainTool are names that "__" between them keeps apart: the first one is neither in nor at the end
// of the server's, and the tool's does not begin with "_".
var (
	plainServer = lazyregexp.New(`^[A-Za-z](_?[A-Za-z0-9-])*$`)
	plainTool   = lazyregexp.New(`^[A-Za-z0-9-][A-Za-z0-9_-]*$`)
	notPlain    = lazyregexp.New(`[^A-Za-z0-9]+`)
)

// exposedName is what clients call a tool: SERVER__TOOL or, where that is too long or could be another tool's, with a
// third "_" and a checksum of both names. No other tool can have it, whatever servers list: models know a tool by its
// name, and clients keep by it what their users have allowed.
func exposedName(server, tool string) string {
	name := server + "__" + tool
	if len(name) <= maxExposedName && plainServer().MatchString(server) && plainTool().MatchString(tool) {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	end := "_" + hex.EncodeToString(sum[:6])
	shown := func(name string, limit int) string {
		name = strings.Trim(notPlain().ReplaceAllString(name, "_"), "_")
		return strings.TrimRight(name[:min(len(name), limit)], "_")
	}
	name = shown(server, maxExposedName/3) + "___"
	return name + shown(tool, maxExposedName-len(name)-len(end)) + end
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

// CallExposed is one call by the client itself, and its result as the server has sent it. It is a run without code:
// policy, questions, lanes, audit log and telemetry are those of every call. Of from it is who calls that counts.
func (b *Bridge) CallExposed(
	ctx context.Context, e Exposed, arguments json.RawMessage, from Request,
) (json.RawMessage, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	c, err := guest.ParseToolCall(mustJSON(guest.ToolCall{Server: e.server.Name, Tool: e.tool, Arguments: arguments}))
	if err != nil {
		return nil, fmt.Errorf("%w; the call was not made", err)
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
	r.flushRecords()
	r.recordEnd(&out, time.Since(began), b.opts.Config.Audit.Required)
	if no != "" {
		return nil, errors.New(no)
	}
	return result, nil
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
			if !isResult(raw) {
				const wrong = "%s.%s was called, and its answer is no result: it says that it is of another type"
				return nil, fmt.Sprintf(wrong, c.Server, c.Tool)
			}
			return raw, ""
		}
		if !errors.As(err, &refused) {
			_, message, _ := explained(c.Server, c.Tool, causeOf(ctx, err))
			return nil, visible.Clip(message, maxText)
		}
	}
	l.refused(ctx, l.run, c, refused)
	return nil, refused.message + refused.data.Hint
}

// isResult says whether a client can take an answer for nothing but a result, whichever of its members it goes by: as a
// question it would be shown to the client's user in the name of codemode.
func isResult(answer json.RawMessage) (is bool) {
	is = true
	gjson.ParseBytes(answer).ForEach(func(name, value gjson.Result) bool {
		if strings.EqualFold(name.Str, "resultType") {
			is = is && value.Type == gjson.String && value.Str == "complete"
		}
		return is
	})
	return is
}

// exposedRun is what such a call is booked on.
func (b *Bridge) exposedRun(from Request) *run {
	calls := newCallStats()
	r := &run{
		req: Request{
			Session: exposedSession, Ask: from.Ask, Unasked: from.Unasked, Client: from.Client, Parent: from.Parent,
			Respond: from.Respond, Can: from.Can, Progress: from.Progress,
		},
		stats:   calls,
		said:    map[answerKey]Answer{},
		clock:   newClock(0, b.admission.confirmTimeout, calls.busySoFar),
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
