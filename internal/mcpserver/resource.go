package mcpserver

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/bridge"
	"codemode/internal/visible"
)

// The capability summary is served under the name users of the Python original know, and under our own.
const (
	capabilitiesURI    = "codemode://capabilities"
	oldCapabilitiesURI = "resource://mcp-server-code-execution-mode/capabilities"
	runsTemplate       = "codemode://runs/{id}"
	outputTemplate     = "codemode://output/{session}/{run}/{stream}{?offset}"
)

//go:embed capabilities.md
var capabilities string

// pageSize is how much of a kept output one read returns.
const pageSize = 256 << 10

func (s *Server) addResources(sdk *mcp.Server) {
	for _, uri := range []string{capabilitiesURI, oldCapabilitiesURI} {
		sdk.AddResource(&mcp.Resource{
			URI: uri, Name: "capabilities", MIMEType: "text/markdown",
			Description: "What code in run_python can use, and how to load servers",
		}, s.readCapabilities)
	}
	sdk.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: outputTemplate, Name: "output", MIMEType: "text/plain",
		Description: "Output of a run that was too large for its result, from a byte offset on",
	}, s.readOutput)
	sdk.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: runsTemplate, Name: "run", MIMEType: "application/json",
		Description: "What a run did: status, calls, time. Its id is in the _meta of its result",
	}, s.readRun)
	s.addArtifacts(sdk)
}

func (s *Server) readCapabilities(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
		{
			URI: req.Params.URI, MIMEType: "text/markdown",
			Text: strings.Replace(capabilities, "standard library", s.libraries(), 1),
		},
	}}, nil
}

// readOutput returns one page of a kept output; its _meta says where the next one begins.
func (s *Server) readOutput(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	at, offset, ok := parseOutput(uri)
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	page, size, err := s.bridge().ReadOutput(at, offset, pageSize)
	switch {
	case errors.Is(err, bridge.ErrNoOutput):
		return nil, mcp.ResourceNotFoundError(uri)
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", uri, err)
	}
	meta := mcp.Meta{"codemode/bytes": size, "codemode/offset": offset}
	if next := offset + int64(len(page)); next < size {
		meta["codemode/next"] = fmt.Sprintf("%s?offset=%d", strings.SplitN(uri, "?", 2)[0], next)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: uri, MIMEType: "text/plain", Text: visible.Text(string(page)), Meta: meta,
	}}}, nil
}

// readRun answers with the account of one run.
func (s *Server) readRun(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	account, ok := s.bridge().Account(strings.TrimPrefix(uri, "codemode://runs/"))
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: uri, MIMEType: "application/json", Text: visible.JSON(string(account)),
	}}}, nil
}

// parseOutput reads an output's URI, as bridge makes it.
func parseOutput(uri string) (at bridge.OutputOf, offset int64, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "codemode" || u.Host != "output" {
		return at, 0, false
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) != 3 {
		return at, 0, false
	}
	run, err := strconv.Atoi(parts[1])
	if err != nil {
		return at, 0, false
	}
	if v := u.Query().Get("offset"); v != "" {
		if offset, err = strconv.ParseInt(v, 10, 64); err != nil || offset < 0 {
			return at, 0, false
		}
	}
	return bridge.OutputOf{Session: parts[0], Run: run, Stream: parts[2]}, offset, true
}
