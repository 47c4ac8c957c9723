package bridge

import (
	"context"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/visible"
)

const (
	runsTemplate = "codemode://runs/{id}"
	maxRuns      = 256 // whose accounts are kept
)

// runs are the accounts of the latest runs: what their results say of them, without output, value and images.
type runs struct {
	mu    sync.Mutex
	order []string // ids, the oldest first
	byID  map[string][]byte
}

func newRuns() *runs { return &runs{byID: map[string][]byte{}} }

// add keeps the account of a run that has a receipt.
func (r *runs) add(o Outcome) {
	p := o.payload()
	if p.Receipt == nil {
		return
	}
	p.Stdout, p.Stderr, p.Result = nil, nil, nil
	account := mustJSON(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.order) >= maxRuns {
		delete(r.byID, r.order[0])
		r.order = r.order[1:]
	}
	r.order = append(r.order, p.Receipt.Run)
	r.byID[p.Receipt.Run] = account
}

// read answers with one account, as a resource.
func (r *runs) read(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	r.mu.Lock()
	account, ok := r.byID[strings.TrimPrefix(uri, "codemode://runs/")]
	r.mu.Unlock()
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: uri, MIMEType: "application/json", Text: visible.JSON(string(account)),
	}}}, nil
}
