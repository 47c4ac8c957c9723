package mcpserver

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// read reads a resource of one part.
func (k *kit) read(session *mcp.ClientSession, uri string) *mcp.ResourceContents {
	k.t.Helper()
	result, err := session.ReadResource(k.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil || len(result.Contents) != 1 {
		k.t.Fatalf("reading %s: %v", uri, err)
	}
	return result.Contents[0]
}

func TestServeCapabilities(t *testing.T) {
	k := newKit(t, nil)
	client := k.serve()
	listed, err := client.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	uris := map[string]bool{}
	for _, r := range listed.Resources {
		uris[r.URI] = true
	}
	for _, uri := range []string{"resource://mcp-server-code-execution-mode/capabilities", "codemode://capabilities"} {
		c := k.read(client, uri)
		if !uris[uri] || c.URI != uri || c.MIMEType != "text/markdown" {
			t.Errorf("%s: listed %v, answered as %s, %s", uri, uris[uri], c.URI, c.MIMEType)
		}
		contains(t, c.Text, "mcp_<alias>", "search_tool_docs", "## Checklist")
	}
}

// TestServeNoResource: whatever a client asks for, it is told that there is none, and the session goes on.
func TestServeNoResource(t *testing.T) {
	client := newKit(t, nil).serve()
	for _, uri := range []string{"codemode://artifacts/x", "codemode://runs/\x1b", "x\x7f", "\x00", "\u2028\u202e"} {
		_, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("%q: %v", uri, err)
		}
	}
}

// case 10: what a result leaves out can be read page by page, and the pages join to the whole.
func TestServeLargeOutput(t *testing.T) {
	k := newKit(t, structured)
	client := k.serve()
	text, result := k.call(
		client, map[string]any{"code": "for i in range(30_000): print('zeile', i, 'é日😀')", "session": "big"},
	)
	uri := "codemode://output/big/1/stdout"
	contains(
		t, text, "zeile 0 é日😀\n", "zeile 29999 é日😀", "the whole is the resource "+uri+"; better: assign what is large",
	)
	if len(text) > 33<<10 {
		t.Errorf("the result has %d bytes", len(text))
	}
	content := result.StructuredContent.(map[string]any)["truncated"].([]any)[0].(map[string]any)
	if content["stream"] != "stdout" || content["uri"] != uri {
		t.Errorf("truncated: %v", content)
	}
	var want, got strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&want, "zeile %d é日😀\n", i)
	}
	pages := 0
	for next := uri; next != ""; pages++ {
		c := k.read(client, next)
		got.WriteString(c.Text)
		if total := c.Meta["codemode/bytes"]; total != float64(want.Len()) {
			t.Fatalf("page %d says %v bytes, want %d", pages, total, want.Len())
		}
		next, _ = c.Meta["codemode/next"].(string)
	}
	if got.String() != want.String() || pages < 2 {
		t.Errorf("%d pages with %d bytes, want %d", pages, got.Len(), want.Len())
	}
	for _, wrong := range []string{
		"codemode://output/big/2/stdout", "codemode://output/big/1/stderr", "codemode://output/other/1/stdout", uri + "?offset=-1",
	} {
		if _, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: wrong}); err == nil ||
			!strings.Contains(err.Error(), "not found") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// What a run shows comes back as MCP images, and what a tool returned can be shown.
func TestServeImages(t *testing.T) {
	k := newKit(t, nil, fake("fake"))
	client := k.serve()
	pixel, err := base64.StdEncoding.DecodeString(
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
	)
	if err != nil {
		t.Fatal(err)
	}
	text, result := k.call(
		client,
		map[string]any{
			"code": fmt.Sprintf(
				"png = bytes.fromhex('%x')\ndisplay(png)\nprint('and a last expression')\nawait mcp_fake.image()",
				pixel,
			),
		},
	)
	want(t, text, "and a last expression")
	if len(result.Content) != 3 {
		t.Fatalf("%d blocks", len(result.Content))
	}
	for _, block := range result.Content[1:] {
		img, ok := block.(*mcp.ImageContent)
		if !ok || img.MIMEType != "image/png" || !strings.HasPrefix(string(img.Data), "\x89PNG") {
			t.Errorf("%T, %v", block, block)
		}
	}
	img, err := png.Decode(bytes.NewReader(result.Content[1].(*mcp.ImageContent).Data))
	if err != nil || img.Bounds() != image.Rect(0, 0, 1, 1) {
		t.Errorf("the image is another one: %v, %v", img, err)
	}
}

// case 8: whatever is printed arrives as text in which nothing is hidden.
func TestServeHiddenCharacters(t *testing.T) {
	k := newKit(t, structured)
	text, result := k.call(k.serve(), map[string]any{
		"code": "import os\nprint('a\\ud800b\\0c\\x1b[31m\\u2028\\u202e\\r')\n_ = os.write(1, b'\\xff\\n')\nraise ValueError('\\x1b]0;x\\x07')",
	})
	contains(t, text, `a\ud800b\x00c\x1b[31m\u2028\u202e\r`+"\n"+`\xff`+"\n", `ValueError: \x1b]0;x\x07`)
	if strings.ContainsAny(text, "\x00\x1b\r\x07\u2028\u202e") {
		t.Errorf("%q", text)
	}
	content := result.StructuredContent.(map[string]any)
	if stdout := fmt.Sprint(content["stdout"]); strings.ContainsAny(
		stdout+fmt.Sprint(content["error"]), "\x00\x1b\r\x07\u2028\u202e",
	) {
		t.Errorf("%q", stdout)
	}
}
