//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

package fakemcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newServer is the well-behaved server with its tools.
func newServer(o options) *mcp.Server {
	options := &mcp.ServerOptions{PageSize: o.pages}
	if o.resources {
		options.CompletionHandler = complete
	}
	if o.subscribed != "" {
		addSubscriptions(options, o.subscribed)
	}
	options.SetCacheable = func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
		c.TTLMs, c.CacheScope = int(o.ttl.Milliseconds()), "private"
	}
	o.rootsChanged = &atomic.Int64{}
	options.RootsListChangedHandler = func(context.Context, *mcp.RootsListChangedRequest) { o.rootsChanged.Add(1) }
	s := mcp.NewServer(&mcp.Implementation{Name: o.name, Version: "1.0.0"}, options)
	if o.resources {
		addResources(s)
	}
	if o.subscribed != "" {
		addTouch(s)
	}
	addPlainTools(s)
	addContentTools(s)
	addProcessTools(s)
	if o.asCodemode {
		s.AddTool(
			&mcp.Tool{Name: "run_python", Description: "Run Python", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say(""), nil },
		)
	}
	if o.notes != "" {
		addNotes(s, o.notes, o.notePause, o.turns)
	}
	if o.wrong {
		addWrong(s)
	}
	if o.asks {
		addAsks(s, o)
	}
	if o.reads {
		mcp.AddTool(s, &mcp.Tool{Name: "read_path", Description: "Say what is in the file at a path, and the path"},
			func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
				data, err := os.ReadFile(in.Message)
				return say(string(data) + " in " + in.Message), nil, err
			})
		mcp.AddTool(s, &mcp.Tool{Name: "spell_path", Description: "Tell of a path, and answer with it in escapes"},
			func(context.Context, *mcp.CallToolRequest, text) (*mcp.CallToolResult, any, error) {
				return say(""), nil, nil
			})
	}
	if o.tasks != "" {
		addLong(s)
	}
	for i := range o.tools {
		addNumbered(s, i+1)
	}
	return s
}

type text struct {
	Message string `json:"message" jsonschema:"what to say"`
}

type sum struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type duration struct {
	Ms int `json:"ms" jsonschema:"milliseconds"`
}

type size struct {
	N int `json:"n" jsonschema:"bytes"`
}

func say(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func addPlainTools(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Echo the provided message"},
		func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			return say(in.Message), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Add two numbers"},
		func(_ context.Context, _ *mcp.CallToolRequest, in sum) (*mcp.CallToolResult, any, error) {
			return say(fmt.Sprint(in.A + in.B)), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "slow", Description: "Wait, then answer"},
		func(ctx context.Context, _ *mcp.CallToolRequest, in duration) (*mcp.CallToolResult, any, error) {
			if in.Ms >= 10_000 { // whoever asks for that is going to do something meanwhile
				fmt.Fprintln(os.Stderr, "fakemcp: slow is under way")
			}
			select {
			case <-time.After(time.Duration(in.Ms) * time.Millisecond):
				return say(fmt.Sprintf("waited %d ms", in.Ms)), nil, nil
			case <-ctx.Done():
				fmt.Fprintln(os.Stderr, "fakemcp: slow was cancelled")
				return nil, nil, ctx.Err()
			}
		})
	mcp.AddTool(s, &mcp.Tool{Name: "fail", Description: "Answer with isError"},
		func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New(joined(in.Message))
		})
	mcp.AddTool(s, &mcp.Tool{Name: "big", Description: "Answer with n bytes"},
		func(_ context.Context, _ *mcp.CallToolRequest, in size) (*mcp.CallToolResult, any, error) {
			return say(strings.Repeat("x", in.N)), nil, nil
		})
	for name, what := range map[string]string{
		"crash":     "Exit with status 3 in the call",
		"nan":       "Answer with JSON that is none",
		"verbatim":  "Answer with the given result",
		"lines":     "Write the given lines, then answer",
		"refuse":    "Answer with a JSON-RPC error",
		"request":   "Send the given request, and answer with the answer",
		"arguments": "Answer with the arguments as they came",
		"meta":      "Answer with the request's _meta as it came",
		"eof":       "Close stdout and stay",
		"flood":     "Write without a line end and without end",
		"large":     "Answer with 5 MiB",
		"nag":       "Ask without end and read no answer",
		"unasked":   "Say the same without end, until a call is cancelled",
	} {
		s.AddTool(&mcp.Tool{Name: name, Description: what, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say(""), nil })
	}
}

// pixel is a PNG of one transparent pixel.
var pixel = []byte(
	"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
		"\x00\x00\x00\rIDATx\xdacd`\xf8_\x0f\x00\x02\x87\x01\x80\xebG\xba\x92\x00\x00\x00\x00IEND\xaeB`\x82",
)

func addContentTools(s *mcp.Server) {
	image := &mcp.ImageContent{MIMEType: "image/png", Data: pixel}
	audio := &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF")}
	resource := &mcp.EmbeddedResource{
		Resource: &mcp.ResourceContents{URI: "fake://one", MIMEType: "text/plain", Text: "one"},
	}
	link := &mcp.ResourceLink{URI: "fake://two", Name: "two", MIMEType: "text/plain"}
	results := map[string][]mcp.Content{
		"image":    {image},
		"audio":    {audio},
		"resource": {resource},
		"link":     {link},
		"multi":    {&mcp.TextContent{Text: `{"n": 1}`}, image, &mcp.TextContent{Text: "plain"}, audio, resource, link},
	}
	for _, name := range slices.Sorted(maps.Keys(results)) {
		s.AddTool(
			&mcp.Tool{
				Name:        name,
				Description: "Answer with " + name,
				InputSchema: json.RawMessage(`{"type":"object"}`),
			},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: results[name], Meta: mcp.Meta{"fake/kind": name}}, nil
			},
		)
	}
	type person struct {
		Name string   `json:"name"`
		Age  int      `json:"age"`
		Tags []string `json:"tags"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "structured", Description: "Answer with structuredContent"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, person, error) {
			return nil, person{"Ada", 36, []string{"a", "b"}}, nil
		})
	s.AddTool(&mcp.Tool{
		Name:        "wrapped",
		Description: "Answer with a wrapped primitive",
		InputSchema: json.RawMessage(`{"type":"object"}`),
		OutputSchema: json.RawMessage(
			`{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"],"x-fastmcp-wrap-result":true}`,
		),
	}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: "42"}},
			StructuredContent: json.RawMessage(`{"result":42}`),
		}, nil
	})
}

func addProcessTools(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "env", Description: "The environment, one variable a line"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return say(strings.Join(slices.Sorted(slices.Values(os.Environ())), "\n")), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "cwd", Description: "The working directory"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			dir, err := os.Getwd()
			return say(dir), nil, err
		})
	mcp.AddTool(s, &mcp.Tool{Name: "pid", Description: "The process id"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return say(fmt.Sprint(os.Getpid())), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "complain", Description: "Write to stderr"},
		func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			fmt.Fprintln(os.Stderr, os.ExpandEnv(in.Message))
			return say("done"), nil, nil
		})
	var grown atomic.Int64
	mcp.AddTool(s, &mcp.Tool{Name: "grow", Description: "Add a tool, and say so"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			name := fmt.Sprintf("grown_%d", grown.Add(1))
			mcp.AddTool(s, &mcp.Tool{Name: name, Description: "A tool that was not there"},
				func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
					return say(name), nil, nil
				})
			return say(name), nil, nil
		})
}

// addNotes adds one tool that only reads, one that adds, and one of which nothing is said, so that it is taken for the
// worst.
func addNotes(s *mcp.Server, file string, pause time.Duration, turns bool) {
	no := false
	get := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	if _, err := os.Stat(file); turns && err == nil {
		get = nil
	}
	for name, hints := range map[string]*mcp.ToolAnnotations{
		"get_note":    get,
		"add_note":    {DestructiveHint: &no, OpenWorldHint: &no},
		"delete_note": nil,
	} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Note a message", Annotations: hints},
			func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
				f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				if err != nil {
					return nil, nil, err
				}
				defer f.Close()
				_, err = fmt.Fprintln(f, name, in.Message)
				time.Sleep(pause)
				return say(name + ": " + in.Message), nil, err
			})
	}
}

// wrongTools are the tools whose answers -wrong makes wrong.
var wrongTools = []string{"twice", "wrong_id", "text_id", "list_result", "half"}

func addWrong(s *mcp.Server) {
	for _, name := range wrongTools {
		s.AddTool(
			&mcp.Tool{
				Name:        name,
				Description: "Answer wrongly: " + name,
				InputSchema: json.RawMessage(`{"type":"object"}`),
			},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say(""), nil },
		)
	}
}

func addNumbered(s *mcp.Server, n int) {
	name := fmt.Sprintf("tool_%d", n)
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: fmt.Sprintf("Tool number %d", n)},
		func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			return say(name + ": " + in.Message), nil, nil
		})
}

// joined is a text without the character DEL: what a server says need not stand in what it was sent.
func joined(text string) string { return strings.ReplaceAll(text, "\x7f", "") }
