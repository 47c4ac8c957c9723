package mcpserver

import (
	"io"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// lastAnswers is how long a client that sends nothing more is waited for: who pipes requests into codemode reads on
// until it ends, and the SDK drops what is not answered when its input does.
const lastAnswers = time.Second

// inFlight are the requests of a client that have no answer yet.
type inFlight struct {
	mu   sync.Mutex
	ids  map[string]bool // as written
	idle chan struct{}   // closed when there is none; nil as long as nobody waits
}

// asks notes the requests of a line, and those that it cancels, which get no answer.
func (f *inFlight) asks(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range messagesOf(line) {
		switch id, method := m.Get("id"), m.Get("method"); {
		case method.String() == "notifications/cancelled":
			delete(f.ids, m.Get("params.requestId").Raw)
		case id.Exists() && method.Exists():
			if f.ids == nil {
				f.ids = map[string]bool{}
			}
			f.ids[id.Raw] = true
		}
	}
}

// answers notes the answers of a message to the client.
func (f *inFlight) answers(message []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range messagesOf(message) {
		if !m.Get("method").Exists() {
			delete(f.ids, m.Get("id").Raw)
		}
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

// messagesOf are those of a line: one, or a batch.
func messagesOf(line []byte) []gjson.Result {
	m := gjson.ParseBytes(line)
	if m.IsArray() {
		return m.Array()
	}
	return []gjson.Result{m}
}

// answerWriter notes the answers that have been written.
type answerWriter struct {
	io.WriteCloser
	inFlight *inFlight
}

func (a answerWriter) Write(p []byte) (int, error) {
	n, err := a.WriteCloser.Write(p)
	a.inFlight.answers(p)
	return n, err
}
