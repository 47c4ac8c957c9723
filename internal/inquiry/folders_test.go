//lint:file-ignore SA1019 roots are deprecated since MCP 2026-07-28, and clients of today have them

package inquiry

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestFolders(t *testing.T) {
	can := &Capabilities{RootsV2: &mcp.RootCapabilities{}}
	ask := func(context.Context, Request) (Response, error) {
		return &mcp.ListRootsResult{Roots: []*mcp.Root{
			{URI: "file:///home/me/a%20b/"},
			{URI: "file://localhost/srv"},
			{URI: "file://elsewhere/srv"},
			{URI: "https://example.com"},
			{URI: "file:relative"},
			{URI: "file:///a%00b"},
			{URI: "%"},
		}}, nil
	}
	paths, err := Folders(t.Context(), can, ask)
	if want := []string{"/home/me/a b", "/srv"}; err != nil || !slices.Equal(paths, want) {
		t.Errorf("%q, %v; want %q", paths, err, want)
	}
	if paths, err := Folders(t.Context(), &Capabilities{}, ask); paths != nil || err != nil {
		t.Errorf("a client without roots: %q, %v", paths, err)
	}
	away := func(context.Context, Request) (Response, error) { return nil, errors.New("gone") }
	if _, err := Folders(t.Context(), can, away); err == nil {
		t.Error("nobody has answered")
	}
	if path, ok := localPath("file:///C:/Users/me", "windows"); path != `C:\Users\me` || !ok {
		t.Errorf("%q, %v", path, ok)
	}
}
