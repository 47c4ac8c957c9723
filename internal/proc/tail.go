package proc

import (
	"bytes"
	"os"
	"sync"
	"sync/atomic"
)

// tailSize is how much of a stream's end is kept: enough for a stack trace, little enough for a
// hundred servers.
const tailSize = 8 << 10

// tail reads a stream to its end, however much that is, and keeps the last of it.
type tail struct {
	source *os.File
	line   func(line string, cut bool)
	pace   func(bytes int)
	ended  atomic.Bool // its writer has, and nothing is paced any more
	done   chan struct{}

	mu   sync.Mutex
	kept []byte // at most 2*tailSize, trimmed to tailSize when that is exceeded
	cut  bool
}

func newTail(line func(line string, cut bool), pace func(bytes int)) *tail {
	return &tail{line: line, pace: pace, done: make(chan struct{})}
}

// read ends with the stream. It is its only reader.
func (t *tail) read() {
	defer close(t.done)
	buf := make([]byte, tailSize)
	var partial []byte
	rest := false // of a line that was cut
	for {
		n, err := t.source.Read(buf)
		t.keep(buf[:n])
		if t.line != nil {
			partial, rest = t.lines(append(partial, buf[:n]...), rest)
		}
		if err != nil {
			if t.line != nil && len(partial) > 0 && !rest {
				t.line(string(partial), false)
			}
			return
		}
		if t.pace != nil && !t.ended.Load() {
			t.pace(n)
		}
	}
}

// lines hands on whole lines, or the beginning of what is too long to wait for its end, and returns what is left; rest
// says that this is of a line that was cut.
func (t *tail) lines(b []byte, rest bool) ([]byte, bool) {
	for {
		i := bytes.IndexByte(b, '\n')
		switch {
		case i >= 0:
			line := bytes.TrimSuffix(b[:i], []byte{'\r'})
			if !rest {
				t.line(string(line[:min(len(line), tailSize)]), len(line) > tailSize)
			}
			b, rest = b[i+1:], false
		case rest:
			return nil, true
		case len(b) >= tailSize:
			t.line(string(b[:tailSize]), true)
			b, rest = b[tailSize:], true
		default:
			return append([]byte(nil), b...), false
		}
	}
}

func (t *tail) keep(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - tailSize; over > tailSize {
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.cut = true
	}
}

func (t *tail) text() (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if over := len(t.kept) - tailSize; over > 0 {
		return string(t.kept[over:]), true
	}
	return string(t.kept), t.cut
}
