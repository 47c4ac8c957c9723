package bridge

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/visible"
)

// The capability summary is served under the name users of the Python original know, and under our own.
const (
	capabilitiesURI    = "codemode://capabilities"
	oldCapabilitiesURI = "resource://mcp-server-code-execution-mode/capabilities"
	outputTemplate     = "codemode://output/{session}/{run}/{stream}{?offset}"
)

//go:embed capabilities.md
var capabilities string

// pageSize is how much of a kept output one read returns.
const pageSize = 256 << 10

func outputURI(session string, run int, stream string) string {
	return fmt.Sprintf("codemode://output/%s/%d/%s", session, run, stream)
}

func (b *Bridge) addResources(s *mcp.Server) {
	for _, uri := range []string{capabilitiesURI, oldCapabilitiesURI} {
		s.AddResource(&mcp.Resource{
			URI: uri, Name: "capabilities", MIMEType: "text/markdown",
			Description: "What code in run_python can use, and how to load servers",
		}, b.readCapabilities)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: outputTemplate, Name: "output", MIMEType: "text/plain",
		Description: "Output of a run that was too large for its result, from a byte offset on",
	}, b.readOutput)
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: runsTemplate, Name: "run", MIMEType: "application/json",
		Description: "What a run did: status, calls, time. Its id is in the _meta of its result",
	}, b.runs.read)
}

func (b *Bridge) readCapabilities(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
		{
			URI: req.Params.URI, MIMEType: "text/markdown",
			Text: strings.Replace(capabilities, "standard library", b.libraries(), 1),
		},
	}}, nil
}

// readOutput returns one page of a kept output; its _meta says where the next one begins.
func (b *Bridge) readOutput(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	text, offset := b.findOutput(uri)
	if text == nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	page, err := text.page(offset, pageSize)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", uri, err)
	}
	meta := mcp.Meta{"codemode/bytes": text.size, "codemode/offset": offset}
	if next := offset + int64(len(page)); next < text.size {
		meta["codemode/next"] = fmt.Sprintf("%s?offset=%d", strings.SplitN(uri, "?", 2)[0], next)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: uri, MIMEType: "text/plain", Text: visible.Text(string(page)), Meta: meta,
	}}}, nil
}

// findOutput resolves an output's URI; nil when there is none, or none any more.
func (b *Bridge) findOutput(uri string) (*spill, int64) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "codemode" || u.Host != "output" {
		return nil, 0
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) != 3 {
		return nil, 0
	}
	run, err := strconv.Atoi(parts[1])
	if err != nil {
		return nil, 0
	}
	var offset int64
	if v := u.Query().Get("offset"); v != "" {
		if offset, err = strconv.ParseInt(v, 10, 64); err != nil || offset < 0 {
			return nil, 0
		}
	}
	b.mu.Lock()
	s := b.sessions[parts[0]]
	b.mu.Unlock()
	if s == nil {
		return nil, 0
	}
	kept, ok := s.kept(run, parts[2])
	if !ok {
		return nil, 0
	}
	return kept, offset
}
