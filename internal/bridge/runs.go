package bridge

import (
	"sync"
)

// maxRuns is how many runs' accounts are kept.
const maxRuns = 256

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

// Account is what a run did, as JSON, without output, value and images; false when it is not known, or no more.
func (b *Bridge) Account(run string) ([]byte, bool) {
	b.runs.mu.Lock()
	defer b.runs.mu.Unlock()
	account, ok := b.runs.byID[run]
	return account, ok
}
