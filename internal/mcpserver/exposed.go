package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/bridge"
	"codemode/internal/visible"
)

// addExposed has a server list the exposed tools, and pass on calls of them.
func (s *Server) addExposed(ctx context.Context, sdk *mcp.Server, calls *rounds) {
	if len(s.opts.Config.Expose) == 0 {
		return
	}
	sdk.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(run context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok && call.Params.Name != runPython {
				all := s.bridge().Exposed(run)
				named := func(e bridge.Exposed) bool { return e.Name == call.Params.Name }
				if i := slices.IndexFunc(all, named); i >= 0 {
					return calls.handle(
						ctx,
						run,
						call,
						func(ctx context.Context, arguments json.RawMessage, from bridge.Request) mcp.Result {
							raw, err := s.bridge().CallExposed(ctx, all[i], arguments, from)
							if err != nil {
								return failedCall(err.Error())
							}
							return &verbatim{&mcp.CallToolResult{}, raw}
						},
					), nil
				}
			}
			result, err := next(run, method, req)
			if listed, ok := result.(*mcp.ListToolsResult); ok && err == nil && listed.NextCursor == "" {
				return &withExposed{listed, s.bridge().Exposed(run)}, nil
			}
			return result, err
		}
	})
}

// withExposed is a list of tools with definitions in it as servers have sent them.
type withExposed struct {
	*mcp.ListToolsResult
	more []bridge.Exposed
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
		tools = append(tools, e.Definition)
	}
	if members["tools"], err = json.Marshal(tools); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// verbatim is a result as a server has sent it.
type verbatim struct {
	*mcp.CallToolResult
	raw json.RawMessage
}

func (v *verbatim) MarshalJSON() ([]byte, error) { return v.raw, nil }

func failedCall(why string) mcp.Result {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: visible.Text(why)}}}
}
