//lint:file-ignore SA1019 sampling is deprecated since MCP 2026-07-28, and servers of today use it

package inquiry

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSampling: a client's model is asked with tools only if the client takes those, and with nothing that the client
// knows from elsewhere.
func TestSampling(t *testing.T) {
	plain := &mcp.CreateMessageWithToolsParams{IncludeContext: "allServers", MaxTokens: 5}
	tools := &mcp.CreateMessageWithToolsParams{Tools: []*mcp.Tool{{Name: "x"}}}
	choice := &mcp.CreateMessageWithToolsParams{ToolChoice: &mcp.ToolChoice{Mode: "required"}}
	for _, tt := range []struct {
		sampling     *mcp.SamplingCapabilities
		plain, tools bool
	}{
		{nil, false, false},
		{&mcp.SamplingCapabilities{}, true, false},
		{&mcp.SamplingCapabilities{Tools: &mcp.SamplingToolsCapabilities{}}, true, true},
	} {
		can := &Capabilities{Sampling: tt.sampling}
		if got := Can(can, plain); got != tt.plain {
			t.Errorf("%+v: %t without tools", tt.sampling, got)
		}
		for _, request := range []Request{tools, choice} {
			if got := Can(can, request); got != tt.tools {
				t.Errorf("%+v: %t with tools", tt.sampling, got)
			}
		}
	}
	shown, err := Presentable("a", "b", plain)
	p, ok := shown.(*mcp.CreateMessageWithToolsParams)
	if err != nil || !ok || p.IncludeContext != "" || p.MaxTokens != 5 {
		t.Errorf("shown is %+v, %v", shown, err)
	}
	if plain.IncludeContext == "" {
		t.Error("what the server wrote was changed")
	}
}
