//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

package fakemcp

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// form is what the tool ask wants to have filled in.
var form = json.RawMessage(`{"type":"object","properties":{` +
	`"name":{"type":"string","title":"Your name","default":"Ada"},` +
	`"age":{"type":"integer","minimum":0,"maximum":150},` +
	`"color":{"type":"string","enum":["red","green"],"default":"green"},` +
	`"sure":{"type":"boolean","description":"Sure?"}},"required":["age"]}`)

type asking struct {
	What    string `json:"what" jsonschema:"form, url, sample, roots or both"`
	Message string `json:"message"`
}

// requests are what the tool ask asks, by its argument.
func (a asking) requests() mcp.InputRequestMap {
	all := mcp.InputRequestMap{
		"form":  &mcp.ElicitParams{Message: a.Message, RequestedSchema: form},
		"url":   &mcp.ElicitParams{Message: a.Message, URL: "https://fake.example/consent", ElicitationID: "1"},
		"roots": &mcp.ListRootsParams{},
		"sample": &mcp.CreateMessageWithToolsParams{MaxTokens: 100, Messages: []*mcp.SamplingMessageV2{
			{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: a.Message}}},
		}},
	}
	if a.What == "both" {
		return mcp.InputRequestMap{"form": all["form"], "url": all["url"]}
	}
	return mcp.InputRequestMap{a.What: all[a.What]}
}

// addAsks adds a tool that asks in the middle of a call, in the way of the client's revision, and answers with what it
// was told.
func addAsks(s *mcp.Server, o options) {
	mcp.AddTool(s, &mcp.Tool{Name: "changes", Description: "Say how often the client's roots have changed"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return say(strconv.FormatInt(o.rootsChanged.Load(), 10)), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "open_first", Description: "Refuse until the user has opened a URL"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return say("the peer answers that"), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "ask", Description: "Ask the client, and say what it answered"},
		func(_ context.Context, req *mcp.CallToolRequest, in asking) (*mcp.CallToolResult, any, error) {
			if req.Params.InputResponses == nil {
				return &mcp.CallToolResult{InputRequests: in.requests(), RequestState: "state of " + in.What}, nil, nil
			}
			answers, err := json.Marshal(req.Params.InputResponses)
			return say(string(answers)), nil, err
		})
	mcp.AddTool(s, &mcp.Tool{Name: "can", Description: "Say what the client can be asked for"},
		func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			can := req.Session.InitializeParams().Capabilities
			text, err := json.Marshal(map[string]any{
				"elicitation": can.Elicitation, "sampling": can.Sampling, "roots": can.RootsV2,
			})
			return say(string(text)), nil, err
		})
}
