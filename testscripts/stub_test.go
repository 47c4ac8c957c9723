package testscripts

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stubServer is an MCP server with exactly one tool.
func stubServer([]string) int {
	type message struct {
		Message string `json:"message"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "stub", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Echo the provided message"},
		func(_ context.Context, _ *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Message}}}, nil, nil
		})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "stubmcp:", err)
		return 1
	}
	return 0
}
