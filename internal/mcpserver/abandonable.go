package mcpserver

import (
	"errors"
	"io"
	"sync"
	"time"
)

// abandonableWriter is a client's stream that can be given up. A client may stop reading and leave, or codemode be told
// to end, while a message is stuck in a full pipe; no system lets go of such a write.
type abandonableWriter struct {
	io.WriteCloser
	leaving chan struct{} // closed once the session is to end
	once    sync.Once
	mu      sync.Mutex
	stuck   bool
}

// abandonGrace is how long a message may be stuck when the session is to end.
const abandonGrace = 2 * time.Second

var errUnread = errors.New("the client does not read what it is sent")

func newAbandonableWriter(to io.WriteCloser) *abandonableWriter {
	return &abandonableWriter{WriteCloser: to, leaving: make(chan struct{})}
}

// leave says that the session is to end.
func (o *abandonableWriter) leave() { o.once.Do(func() { close(o.leaving) }) }

// Write writes one message; the SDK has one written at a time, in memory that it does not use again. The goroutine of
// one that is stuck ends with the process, or when the client reads after all.
func (o *abandonableWriter) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stuck {
		return 0, errUnread
	}
	type written struct {
		n   int
		err error
	}
	done := make(chan written, 1)
	go func() {
		n, err := o.WriteCloser.Write(p)
		done <- written{n, err}
	}()
	select {
	case w := <-done:
		return w.n, w.err
	case <-o.leaving:
	}
	select {
	case w := <-done:
		return w.n, w.err
	case <-time.After(abandonGrace):
		o.stuck = true
		return 0, errUnread
	}
}
