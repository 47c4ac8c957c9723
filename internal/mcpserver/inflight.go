package mcpserver

import (
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"
)

// lastAnswers is how long a client that sends nothing more is waited for: who pipes requests into codemode reads on
// until it ends, and the SDK drops what is not answered when its input does.
const lastAnswers = time.Second

// inFlight are the requests of a client that have no answer yet.
type inFlight struct {
	mu   sync.Mutex
	ids  map[jsonrpc.ID]bool
	idle chan struct{} // closed when there is none; nil as long as nobody waits
}

// asks notes a request, or which it cancels: that gets no answer.
func (f *inFlight) asks(req *jsonrpc.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case req.IsCall():
		if f.ids == nil {
			f.ids = map[jsonrpc.ID]bool{}
		}
		f.ids[req.ID] = true
	case req.Method == "notifications/cancelled":
		if id, err := jsonrpc.MakeID(gjson.GetBytes(req.Params, "requestId").Value()); err == nil {
			delete(f.ids, id)
		}
	}
}

// answers notes that requests have been answered.
func (f *inFlight) answers(ids []jsonrpc.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		delete(f.ids, id)
	}
	if len(f.ids) == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// wait waits for the last answer, but no longer than until the client is given up.
func (f *inFlight) wait(leaving <-chan struct{}) {
	f.mu.Lock()
	if len(f.ids) == 0 {
		f.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	f.idle = idle
	f.mu.Unlock()
	late := time.NewTimer(lastAnswers)
	defer late.Stop()
	select {
	case <-idle:
	case <-late.C:
	case <-leaving:
	}
}
