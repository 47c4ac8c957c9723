package commands

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// keptLines is how many writes of a log wait for whoever reads it; what comes then is left out.
	keptLines = 1000
	// unreadGrace is how long the end waits for the rest to be read.
	unreadGrace = time.Second
)

// logWriter writes a log in the background, so that a reader that does not read blocks nobody. Whoever makes one closes
// it.
type logWriter struct {
	lines chan []byte
	done  chan struct{}

	mu     sync.Mutex
	lost   int
	closed bool
}

func newLogWriter(to io.Writer) *logWriter {
	w := &logWriter{lines: make(chan []byte, keptLines), done: make(chan struct{})}
	go func() { // it ends with the process where the last write is stuck
		defer close(w.done)
		for line := range w.lines {
			_, _ = to.Write(line) // as of any log
		}
	}()
	return w
}

// Write never fails, and never waits.
func (w *logWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return len(p), nil
	}
	line := bytes.Clone(p)
	if w.lost > 0 {
		lost := fmt.Appendf(nil, "codemode: %d lines of the log were left out, for nobody read them\n", w.lost)
		line = append(lost, line...)
	}
	select {
	case w.lines <- line:
		w.lost = 0
	default:
		w.lost++
	}
	return len(p), nil
}

// Close waits a moment for what has been written to be read.
func (w *logWriter) Close() {
	w.mu.Lock()
	w.closed = true
	close(w.lines)
	w.mu.Unlock()
	select {
	case <-w.done:
	case <-time.After(unreadGrace):
	}
}
