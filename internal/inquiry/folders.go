//lint:file-ignore SA1019 roots are deprecated since MCP 2026-07-28, and clients of today have them

package inquiry

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Folders asks a client for its roots, and returns the paths of those on this machine.
func Folders(ctx context.Context, can *Capabilities, ask Responder) (paths []string, err error) {
	request := &mcp.ListRootsParams{}
	if ask == nil || !Can(can, request) {
		return nil, nil
	}
	answer, err := ask(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("asking the client for its folders: %w", err)
	}
	roots, ok := answer.(*mcp.ListRootsResult)
	if !ok {
		return nil, nil // of a client that has answered something else
	}
	for _, r := range roots.Roots {
		if path, ok := localPath(r.URI, runtime.GOOS); ok {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// localPath is the path that a file URI means, RFC 8089.
func localPath(uri, system string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || strings.ContainsRune(u.Path, 0) {
		return "", false
	}
	path := u.Path
	if system == "windows" { // file:///C:/folder
		return strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", `\`), len(path) > 2 && path[2] == ':'
	}
	return filepath.Clean(path), strings.HasPrefix(path, "/")
}
