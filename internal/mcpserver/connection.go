package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connection is the transport to one client over its stream: [mcp.Transport] and the one [mcp.Connection] it connects.
// The SDK's own ends a session over a line that is no message, and a banner of some wrapper script would cost a user
// all sessions. And it decodes each line three times, each through a buffer of 32 KiB (v1.8.0), which a short run
// notices.
//
// Its goroutine is the only reader. It ends with the stream, or with the process where a read cannot be interrupted, as
// of a terminal or a file.
type connection struct {
	in       io.Closer
	out      *abandonableWriter // gets one message for each Write
	lines    *messageReader
	inFlight inFlight

	messages chan jsonrpc.Message // closed behind the last one
	closed   chan struct{}
	once     sync.Once

	mu      sync.Mutex
	batches map[jsonrpc.ID]*batch // of requests without an answer
}

// batch is the answers to one of requests, which go out together, in the order of those.
type batch struct {
	ids     []jsonrpc.ID
	answers map[jsonrpc.ID]json.RawMessage
}

func newConnection(in io.ReadCloser, out io.WriteCloser, log *slog.Logger) *connection {
	writer := newAbandonableWriter(out)
	c := &connection{
		in: in, out: writer, lines: newMessageReader(in, writer, log),
		messages: make(chan jsonrpc.Message), closed: make(chan struct{}), batches: map[jsonrpc.ID]*batch{},
	}
	go c.receive()
	return c
}

// Connect implements [mcp.Transport].
func (c *connection) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements [mcp.Connection].
func (c *connection) SessionID() string { return "" }

// Close implements [mcp.Connection].
func (c *connection) Close() error {
	c.once.Do(func() {
		close(c.closed)
		_ = c.in.Close()
		_ = c.out.Close()
	})
	return nil
}

// receive reads until there will be no more. The last answers are waited for, since the SDK drops what is not answered
// when its input ends.
func (c *connection) receive() {
	defer close(c.messages)
	for {
		messages, together, err := c.lines.next()
		if err != nil {
			break
		}
		c.expect(messages, together)
		for _, m := range messages {
			select {
			case c.messages <- m:
			case <-c.closed:
				return
			}
		}
	}
	c.inFlight.wait(c.out.leaving)
	c.out.leave()
}

// expect notes which messages are to be answered, and whether together.
func (c *connection) expect(messages []jsonrpc.Message, together bool) {
	b := &batch{answers: map[jsonrpc.ID]json.RawMessage{}}
	for _, m := range messages {
		req, ok := m.(*jsonrpc.Request)
		if !ok {
			continue
		}
		c.inFlight.asks(req)
		if req.IsCall() {
			b.ids = append(b.ids, req.ID)
		}
	}
	if !together {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range b.ids {
		c.batches[id] = b
	}
}

// Read implements [mcp.Connection].
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-c.messages:
		if !ok {
			return nil, io.EOF
		}
		return m, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [mcp.Connection].
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	answer, isAnswer := m.(*jsonrpc.Response)
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil && isAnswer { // of a URI, the SDK writes a string of Go, which is not always JSON (go-sdk 1.8.0)
		data, err = jsonrpc.EncodeMessage(withoutData(answer))
	}
	if err != nil {
		return err
	}
	if !isAnswer {
		return c.write(data)
	}
	data, answered, err := c.gather(answer.ID, data)
	if err != nil || data == nil {
		return err
	}
	err = c.write(data)
	c.inFlight.answers(answered)
	return err
}

// withoutData is an answer that can be written in the place of one that cannot.
func withoutData(answer *jsonrpc.Response) *jsonrpc.Response {
	said := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer cannot be written as JSON"}
	if why, ok := errors.AsType[*jsonrpc.Error](answer.Error); ok {
		said = &jsonrpc.Error{Code: why.Code, Message: why.Message}
	}
	return &jsonrpc.Response{ID: answer.ID, Error: said}
}

func (c *connection) write(message []byte) error {
	_, err := c.out.Write(append(message, '\n'))
	return err
}

// gather returns what is to be written now that there is an answer, and the requests that it is for: until the last of
// a batch has come, nothing.
func (c *connection) gather(id jsonrpc.ID, answer []byte) (message []byte, requests []jsonrpc.ID, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.batches[id]
	if b == nil {
		return answer, []jsonrpc.ID{id}, nil
	}
	delete(c.batches, id)
	b.answers[id] = answer
	if len(b.answers) < len(b.ids) {
		return nil, nil, nil
	}
	all := make([]json.RawMessage, 0, len(b.ids))
	for _, id := range b.ids {
		all = append(all, b.answers[id])
	}
	message, err = json.Marshal(all)
	return message, b.ids, err
}
