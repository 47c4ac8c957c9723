package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

// Request is what a server is asked for beside calls of its tools: resources, prompts, and how an argument may go on.
// [NewRequest] makes one.
type Request struct {
	method string
	params requestParams
}

// requestParams are the parameters of all requests; each has its own of them.
type requestParams struct {
	URI       string                      `json:"uri,omitempty"`
	Name      string                      `json:"name,omitempty"`
	Arguments map[string]string           `json:"arguments,omitempty"`
	Ref       *mcp.CompleteReference      `json:"ref,omitempty"`
	Argument  *mcp.CompleteParamsArgument `json:"argument,omitempty"`
	Context   *mcp.CompleteContext        `json:"context,omitempty"`
}

// method is a kind of request.
type method struct {
	offer  string   // of the server's, that it needs
	list   string   // the member that a list's entries are in; empty for what is no list
	needs  []string // parameters
	allows []string // further ones
}

// methods are all that can be asked for.
var methods = map[string]method{
	"resources/list":           {offer: "resources", list: "resources"},
	"resources/templates/list": {offer: "resources", list: "resourceTemplates"},
	"resources/read":           {offer: "resources", needs: []string{"uri"}},
	"prompts/list":             {offer: "prompts", list: "prompts"},
	"prompts/get":              {offer: "prompts", needs: []string{"name"}, allows: []string{"arguments"}},
	"completion/complete":      {offer: "completions", needs: []string{"argument", "ref"}, allows: []string{"context"}},
}

// IsMethod says whether a name is that of what servers are asked for beside calls of tools.
func IsMethod(name string) bool {
	_, ok := methods[name]
	return ok || name == MethodSubscribe
}

// NewRequest checks a request. Its parameters are a JSON object; cursors of lists are not among them.
func NewRequest(name string, params json.RawMessage) (Request, error) {
	m, ok := methods[name]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		return Request{}, fmt.Errorf("no server can be asked for %.60q; there are %s", name, known)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(params, &members); err != nil && len(params) > 0 {
		return Request{}, fmt.Errorf("params of %s: %w", name, err)
	}
	for _, need := range m.needs {
		if value := string(members[need]); value == "" || value == "null" {
			return Request{}, fmt.Errorf("params of %s: %q is missing", name, need)
		}
	}
	for member := range members {
		if !slices.Contains(m.needs, member) && !slices.Contains(m.allows, member) {
			return Request{}, fmt.Errorf("params of %s: it takes no %.60q", name, member)
		}
	}
	r := Request{method: name}
	d := json.NewDecoder(strings.NewReader(cmp.Or(string(params), "{}")))
	d.DisallowUnknownFields()
	if err := d.Decode(&r.params); err != nil {
		return Request{}, fmt.Errorf("params of %s: %w", name, err)
	}
	return r, nil
}

// Method is what is asked for, such as resources/read.
func (r Request) Method() string { return r.method }

// Params are the parameters as they are sent.
func (r Request) Params() json.RawMessage {
	params, err := json.Marshal(r.params)
	if err != nil {
		panic(err) // texts, in what NewRequest has read
	}
	return params
}

// send sends a request, of a list that of one page.
func (r Request) send(ctx context.Context, c *mcp.ClientSession, cursor string, meta mcp.Meta, g given) (err error) {
	p := r.params
	switch r.method {
	case "resources/list":
		_, err = c.ListResources(ctx, &mcp.ListResourcesParams{Meta: meta, Cursor: cursor})
	case "resources/templates/list":
		_, err = c.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Meta: meta, Cursor: cursor})
	case "resources/read":
		_, err = c.ReadResource(ctx, &mcp.ReadResourceParams{
			Meta: meta, URI: p.URI, InputResponses: g.responses, RequestState: g.state,
		})
	case "prompts/list":
		_, err = c.ListPrompts(ctx, &mcp.ListPromptsParams{Meta: meta, Cursor: cursor})
	case "prompts/get":
		_, err = c.GetPrompt(ctx, &mcp.GetPromptParams{
			Meta: meta, Name: p.Name, Arguments: p.Arguments, InputResponses: g.responses, RequestState: g.state,
		})
	case "completion/complete":
		_, err = c.Complete(ctx, &mcp.CompleteParams{Meta: meta, Ref: p.Ref, Argument: *p.Argument, Context: p.Context})
	}
	return err
}

// request asks for something, and returns the answer as the server sent it.
func (sess *session) request(ctx context.Context, r Request) (json.RawMessage, error) {
	m, name := methods[r.method], sess.server.config.Name
	if !sess.offers(m.offer) {
		return nil, sess.callError(ctx, r.method, fmt.Errorf("server %q offers no %s", name, m.offer))
	}
	params := r.Params()
	done := sess.server.pool.opts.Wire.Turn(ctx, len(params))
	sess.secrets.sends("", params)
	done()
	var refused error
	ask := func(cursor string) (answer json.RawMessage, _ error) {
		what := fmt.Sprintf("%s of server %q", r.method, name)
		answer, refused = sess.ask(ctx, r.method, what, func(ctx context.Context, meta mcp.Meta, g given) error {
			return r.send(ctx, sess.client, cursor, meta, g)
		})
		if refused == nil && gjson.GetBytes(answer, "resultType").String() == "task" {
			task := errors.New("the server answered with a task, as calls of tools alone can be")
			refused = sess.callError(ctx, r.method, task)
		}
		return answer, refused
	}
	if m.list == "" {
		return ask("")
	}
	var entries []string
	err := everyPage(m.list, ask, func(entry gjson.Result) { entries = append(entries, entry.Raw) })
	var call *CallError
	switch {
	case err == nil, errors.As(refused, &call) && call.Code == jsonrpc.CodeMethodNotFound: // it has none of them
		return json.RawMessage(`{"` + m.list + `":[` + strings.Join(entries, ",") + `]}`), nil
	case refused != nil:
		return nil, refused
	}
	return nil, sess.callError(ctx, r.method, fmt.Errorf("%s of server %q: %w", r.method, name, err))
}

// offers says whether the server has said that it has something.
func (sess *session) offers(what string) bool {
	init := sess.client.InitializeResult()
	if init == nil || init.Capabilities == nil {
		return false
	}
	switch has := init.Capabilities; what {
	case "resources":
		return has.Resources != nil
	case "prompts":
		return has.Prompts != nil
	default:
		return has.Completions != nil
	}
}

// What a listing may have: a careless server never says which page is the last.
const (
	maxPages   = 1000
	maxEntries = 20_000
	maxListing = 64 << 20 // bytes of all pages
)

// everyPage asks for all pages of a list, and hands on its entries, which are in that member, as they were sent.
func everyPage(list string, ask func(cursor string) (json.RawMessage, error), take func(entry gjson.Result)) error {
	cursors, size, entries, cursor := map[string]bool{"": true}, 0, 0, ""
	for range maxPages {
		page, err := ask(cursor)
		if page == nil {
			return err
		}
		if size += len(page); size > maxListing {
			return fmt.Errorf("the list of %s has more than %d bytes", list, maxListing)
		}
		answer := gjson.ParseBytes(page)
		if !answer.Get(list).IsArray() {
			return fmt.Errorf("the answer has no list %q", list)
		}
		for _, entry := range answer.Get(list).Array() {
			if entry.IsObject() {
				take(entry)
				entries++
			}
		}
		if entries > maxEntries {
			return fmt.Errorf("more than %d %s", maxEntries, list)
		}
		next := answer.Get("nextCursor").String()
		if next == "" {
			return nil
		}
		if cursors[next] {
			return errors.New("a cursor comes for the second time")
		}
		cursors[next], cursor = true, next
	}
	return fmt.Errorf("more than %d pages", maxPages)
}
