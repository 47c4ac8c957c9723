package bridge

import (
	"bytes"
	"encoding/json"
	"io"
	"sync/atomic"
)

// firstLine is a client's stream that remembers its first line when that is not a JSON-RPC message: the SDK ends a
// session over one without a word, and whoever typed it, or set the wrong transport, should learn why.
type firstLine struct {
	io.ReadCloser
	ended   func() // called when nothing more will come
	head    []byte // what has come of the line
	seen    bool   // the line has been looked at
	foreign atomic.Pointer[string]
}

// maxFirstLine is how much of a line is looked at; a first message is far shorter.
const maxFirstLine = 64 << 10

func (f *firstLine) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if !f.seen {
		f.head = append(f.head, p[:n]...)
		f.look()
	}
	if err != nil {
		f.ended()
	}
	return n, err
}

func (f *firstLine) look() {
	f.head = bytes.TrimLeft(f.head, " \t\r\n")
	line, _, whole := bytes.Cut(f.head, []byte("\n"))
	if !whole && len(f.head) <= maxFirstLine {
		return
	}
	var message struct {
		Version string `json:"jsonrpc"`
	}
	if whole && (json.Unmarshal(line, &message) != nil || message.Version != "2.0") {
		text := clip(string(line), 200)
		f.foreign.Store(&text)
	}
	f.seen, f.head = true, nil
}
