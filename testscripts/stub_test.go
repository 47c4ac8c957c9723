package testscripts

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stubServer is an MCP server with exactly one tool; with the argument -newer, that takes one thing more.
func stubServer(args []string) int {
	type message struct {
		Message string `json:"message"`
	}
	type newer struct {
		message
		Loud bool `json:"loud,omitempty"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "stub", Version: "1.0.0"}, nil)
	if slices.Contains(args, "-newer") {
		mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Echo the provided message"},
			func(_ context.Context, _ *mcp.CallToolRequest, in newer) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Message}}}, nil, nil
			})
		return serveStub(s)
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Echo the provided message"},
		func(_ context.Context, _ *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Message}}}, nil, nil
		})
	return serveStub(s)
}

func serveStub(s *mcp.Server) int {
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "stubmcp:", err)
		return 1
	}
	return 0
}
