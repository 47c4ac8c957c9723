package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/artifact"
	"codemode/internal/visible"
)

const (
	artifactsURI     = "codemode://artifacts"
	artifactTemplate = artifact.URIPrefix + "{id}{?offset}"

	maxLinks   = 10      // artifacts that a result links to
	maxInline  = 1 << 10 // bytes of a text that is in the result itself
	blobSize   = 4 << 20 // of what is no text, of which one read returns as much
	linksSince = "2025-06-18"
)

func (s *Server) addArtifacts(sdk *mcp.Server) {
	if !s.opts.Artifacts {
		return
	}
	sdk.AddResource(&mcp.Resource{
		URI: artifactsURI, Name: "artifacts", MIMEType: "application/json",
		Description: "Files that code has left in /workspace/out, the newest first",
	}, s.listArtifacts)
	sdk.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: artifactTemplate, Name: "artifact",
		Description: "A file that code has left, from a byte offset on",
	}, s.readArtifact)
}

func (s *Server) listArtifacts(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	type row struct {
		URI string `json:"uri"`
		artifact.Artifact
	}
	rows := []row{}
	for _, a := range s.bridge().Artifacts().List() {
		rows = append(rows, row{a.URI(), a})
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: req.Params.URI, MIMEType: "application/json", Text: visible.JSON(string(text)),
	}}}, nil
}

// readArtifact returns a page of an artifact; its _meta says where the next one begins.
func (s *Server) readArtifact(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	id, offset, ok := parseArtifact(uri)
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	c, err := s.artifactPage(id, offset)
	switch {
	case errors.Is(err, artifact.ErrNone):
		return nil, mcp.ResourceNotFoundError(uri)
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", uri, err)
	}
	c.URI = uri
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
}

func parseArtifact(uri string) (id string, offset int64, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || !strings.HasPrefix(uri, artifact.URIPrefix) {
		return "", 0, false
	}
	if v := u.Query().Get("offset"); v != "" {
		if offset, err = strconv.ParseInt(v, 10, 64); err != nil || offset < 0 {
			return "", 0, false
		}
	}
	return strings.TrimPrefix(u.Path, "/"), offset, true
}

// artifactPage is what one read returns: a text where it is one in which nothing is hidden, else its bytes.
func (s *Server) artifactPage(id string, offset int64) (*mcp.ResourceContents, error) {
	f, a, err := s.bridge().Artifacts().Open(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	page := make([]byte, min(blobSize, max(0, a.Size-offset)))
	n, err := f.ReadAt(page, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	page = page[:n]
	c := &mcp.ResourceContents{MIMEType: servedAs(a.Type), Meta: mcp.Meta{
		"codemode/name": shownName(a.Name), "codemode/bytes": a.Size, "codemode/sha256": a.SHA256,
		"codemode/offset": offset,
	}}
	text := visible.CutEnd(page[:min(n, pageSize)])
	if utf8.Valid(text) && visible.Text(string(text)) == string(text) && isText(a.Type) {
		c.Text, page = string(text), text
	} else {
		c.Blob = page
	}
	if next := offset + int64(len(page)); next < a.Size {
		c.Meta["codemode/next"] = fmt.Sprintf("%s?offset=%d", a.URI(), next)
	}
	return c, nil
}

// servedAs is the type that a client is told: nothing that it would draw, or run, as code has made it. An image is in
// its run's result, decoded and encoded again.
func servedAs(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	switch {
	case kind == "text/html" || strings.HasSuffix(kind, "/xml") || strings.HasSuffix(kind, "+xml"):
		return "text/plain"
	case strings.HasPrefix(kind, "image/"):
		return "application/octet-stream"
	}
	return kind
}

// maxShownName is how many bytes of an artifact's name a client is told.
const maxShownName = 200

func shownName(name string) string { return visible.Line(visible.Clip(name, maxShownName)) }

func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || kind == "image/svg+xml" || strings.HasPrefix(kind, "application/json")
}

// link adds to a result what its run has left: small texts as they are, else links.
func (s *Server) link(result *mcp.CallToolResult, list []artifact.Artifact) {
	for _, a := range list[:min(len(list), maxLinks)] {
		if a.Size <= maxInline && isText(a.Type) {
			if c, err := s.artifactPage(a.ID, 0); err == nil && c.Blob == nil {
				c.URI = a.URI()
				result.Content = append(result.Content, &mcp.EmbeddedResource{Resource: c})
				continue
			}
		}
		result.Content = append(result.Content, &mcp.ResourceLink{
			URI: a.URI(), Name: shownName(a.Name), MIMEType: servedAs(a.Type), Size: &a.Size,
			Meta: mcp.Meta{"codemode/sha256": a.SHA256},
		})
	}
}

// unlink takes the links out of a result for a client whose revision of MCP does not know them.
func unlink(result mcp.Result, version string) mcp.Result {
	r, ok := result.(*mcp.CallToolResult)
	if !ok || version >= linksSince {
		return result
	}
	var content []mcp.Content
	for _, c := range r.Content {
		if _, is := c.(*mcp.ResourceLink); !is {
			content = append(content, c)
		}
	}
	r.Content = content
	return r
}
