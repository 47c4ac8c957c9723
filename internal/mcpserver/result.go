package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/bridge"
)

// Form is how a client gets an outcome.
type Form struct {
	Mode       string // output.mode
	Structured bool   // with structuredContent, which some clients hand to their model instead of the text
	NeverError bool   // isError is not set: the text alone says that the code failed
}

// receiptMeta is the key of the receipt in a result's _meta, which clients do not show to models.
const receiptMeta = "codemode/receipt"

// toolResult is an outcome as MCP carries it.
func toolResult(o bridge.Outcome, f Form) *mcp.CallToolResult {
	text, p := o.Reply(f.Mode)
	result := &mcp.CallToolResult{IsError: o.Status != bridge.StatusSuccess && !f.NeverError}
	if f.Structured {
		result.StructuredContent = p
	}
	if p.Receipt != nil {
		result.Meta = mcp.Meta{receiptMeta: p.Receipt}
	}
	result.Content = append(result.Content, &mcp.TextContent{Text: text})
	for _, img := range o.Images {
		result.Content = append(result.Content, &mcp.ImageContent{MIMEType: img.MIME, Data: img.Data})
	}
	return result
}
