package fakemcp

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addResources adds resources of each kind of contents, a template, and prompts.
func addResources(s *mcp.Server) {
	texts := func(uris ...string) (list []*mcp.ResourceContents) {
		for _, uri := range uris {
			list = append(list, &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "text of " + uri})
		}
		return list
	}
	for uri, contents := range map[string][]*mcp.ResourceContents{
		"fake://text": texts("fake://text"),
		"fake://json": {{URI: "fake://json", MIMEType: "application/json", Text: `{"n": 1}`}},
		"fake://blob": {{URI: "fake://blob", MIMEType: "image/png", Blob: pixel}},
		"fake://dir":  append(texts("fake://dir/a", "fake://b"), &mcp.ResourceContents{URI: "fake://c", Blob: pixel}),
		"fake://none": {},
	} {
		name := strings.TrimPrefix(uri, "fake://")
		s.AddResource(&mcp.Resource{URI: uri, Name: name, Description: "The resource " + name},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: contents}, nil
			})
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "fake://big/{bytes}", Name: "big"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			n, err := strconv.Atoi(strings.TrimPrefix(req.Params.URI, "fake://big/"))
			text := strings.Repeat("x", n)
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: text}}}, err
		})
	s.AddPrompt(&mcp.Prompt{
		Name: "greet", Description: "Greet somebody",
		Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}, {Name: "style"}},
	}, greet)
}

// greet says something, shows something, and embeds a resource.
func greet(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	a := req.Params.Arguments
	if a["name"] == "" {
		return nil, fmt.Errorf("greet: whom?")
	}
	embedded := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "fake://text", Text: "text"}}
	return &mcp.GetPromptResult{Description: "A greeting", Messages: []*mcp.PromptMessage{
		{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprintf("Greet %s. %s", a["name"], a["style"])}},
		{Role: "assistant", Content: &mcp.ImageContent{MIMEType: "image/png", Data: pixel}},
		{Role: "user", Content: embedded},
	}}, nil
}

// complete completes everything with what was said of it.
func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	p := req.Params
	values := []string{p.Ref.Type, p.Ref.Name + p.Ref.URI, p.Argument.Name, p.Argument.Value}
	if p.Context != nil {
		for name, value := range p.Context.Arguments {
			values = append(values, name+"="+value)
		}
	}
	slices.Sort(values[4:])
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}

// addSubscriptions has the server take subscriptions, but to what is called private.
func addSubscriptions(o *mcp.ServerOptions, file string) {
	note := func(what, uri string) error {
		if strings.Contains(uri, "private") {
			return fmt.Errorf("nobody is told of %s", uri)
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, what, uri)
			err = f.Close()
		}
		return err
	}
	o.SubscribeHandler = func(_ context.Context, r *mcp.SubscribeRequest) error { return note("begin", r.Params.URI) }
	o.UnsubscribeHandler = func(_ context.Context, r *mcp.UnsubscribeRequest) error { return note("end", r.Params.URI) }
}

// addTouch adds a tool that tells of a resource's changes.
func addTouch(s *mcp.Server) {
	type in struct {
		URI   string `json:"uri"`
		Times int    `json:"times"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "touch", Description: "Change a resource so many times"},
		func(ctx context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
			for range a.Times {
				if err := s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: a.URI}); err != nil {
					return nil, nil, err
				}
			}
			return say("done"), nil, nil
		})
}
