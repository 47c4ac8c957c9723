package mcpserver

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/artifact"
	"codemode/internal/bridge"
)

// TestServeArtifacts: what code leaves is in the result as a small text, as a picture, or as a link; and all of it can
// be listed, and read page by page.
func TestServeArtifacts(t *testing.T) {
	store := artifact.New(filepath.Join(t.TempDir(), "artifacts"), nil)
	k := newKit(t, func(o *bridge.Options) { o.Artifacts, o.KeepOutFiles = store, true })
	client := k.serve()
	text, result := k.call(client, map[string]any{"code": `
import base64
artifact(b"a,b\n1,2\n", name="table.csv")
artifact(b"x" * 700_000 + "é".encode(), name="long.txt")
artifact(b"\x1b[2J", name="screen.txt")
artifact(bytes(5 << 20), name="zeros")
artifact(base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
    name="dot.png")
`})
	contains(t, text, `note: kept "table.csv" (text/csv, 8 bytes) as codemode://artifacts/`, `kept "dot.png" (image/png, `)
	kinds := map[string]int{}
	uris := map[string]string{}
	for _, c := range result.Content[1:] {
		switch c := c.(type) {
		case *mcp.ImageContent:
			kinds[c.MIMEType]++
		case *mcp.EmbeddedResource:
			kinds["text"]++
			if c.Resource.Text != "a,b\n1,2\n" || c.Resource.MIMEType != "text/csv" {
				t.Errorf("%+v", c.Resource)
			}
		case *mcp.ResourceLink:
			kinds["link"]++
			uris[c.Name] = c.URI
			if c.Size == nil || c.Meta["codemode/sha256"] == "" {
				t.Errorf("%+v", c)
			}
		}
	}
	if kinds["image/png"] != 1 || kinds["text"] != 1 || kinds["link"] != 4 {
		t.Errorf("%v", kinds)
	}
	for name, want := range map[string]int{"long.txt": 700_002, "screen.txt": 4, "zeros": 5 << 20} {
		got, pages := 0, 0
		for uri := uris[name]; uri != ""; pages++ {
			c := k.read(client, uri)
			got += len(c.Text) + len(c.Blob)
			uri, _ = c.Meta["codemode/next"].(string)
			if strings.ContainsRune(c.Text, '\x1b') {
				t.Errorf("%s: %q as text", name, c.Text)
			}
		}
		if got != want || pages > 3 {
			t.Errorf("%s: %d bytes in %d pages, want %d", name, got, pages, want)
		}
	}
	var rows []struct{ URI, Name, SHA256 string }
	if err := json.Unmarshal([]byte(k.read(client, artifactsURI).Text), &rows); err != nil || len(rows) != 5 {
		t.Errorf("%v, %v", rows, err)
	}
	for _, uri := range []string{
		"codemode://artifacts/aaaaaaaaaaaa", "codemode://artifacts/../x", uris["zeros"] + "?offset=-1",
	} {
		if _, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s can be read", uri)
		}
	}
}

// TestUnlink: clients of an older revision are given no content that they do not know.
func TestUnlink(t *testing.T) {
	for version, want := range map[string]int{"2025-03-26": 1, linksSince: 2, "": 1} {
		result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{}, &mcp.ResourceLink{}}}
		if got := unlink(result, version).(*mcp.CallToolResult).Content; len(got) != want {
			t.Errorf("%q: %d", version, len(got))
		}
	}
}
