package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"codemode/internal/proc"
	"codemode/internal/redact"
)

// conn is the stdio transport to one process: [mcp.Transport] and the one [mcp.Connection] it
// connects.
//
// The SDK's reading goroutine is the only reader of the process's output. The connection's own goroutine
// is the only writer of its input, so that a server which does not read holds up no caller past
// its context.
type conn struct {
	process *proc.Process
	lines   *lineReader
	log     *slog.Logger
	secrets *redact.Redactor
	newest  bool // the session may speak newestProtocol

	out    chan []byte   // to the writer
	broken chan struct{} // closed when nothing can be read or nothing be written any more
	done   chan struct{} // closed by finish
	wrote  chan struct{} // closed when the writer has ended

	mu    sync.Mutex
	state connState // only in update
}

type connState struct {
	broken   bool
	closed   bool  // by the SDK
	lost     bool  // broken, and not because it was closed
	cause    error // why no call may begin any more
	fault    error // what the server did that it was stopped for
	finished bool
	requests map[int64]request // sent with a slot, not answered yet
	slots    map[int64]*slot   // by progress token
	tokens   int64             // the last one given
	owed     int               // the server's requests without an answer yet
	expiry   *time.Timer       // not later than the first end of a slot; nil while no slot has one
}

// request is a request whose answer belongs in a slot.
type request struct {
	id     jsonrpc.ID
	method string
	slot   *slot
}

func newConn(p *proc.Process, maxMessage int, log *slog.Logger, secrets *redact.Redactor) *conn {
	c := &conn{
		process: p, lines: newLineReader(p.Stdout(), maxMessage), log: log, secrets: secrets,
		out: make(chan []byte), broken: make(chan struct{}), done: make(chan struct{}), wrote: make(chan struct{}),
		state: connState{requests: map[int64]request{}, slots: map[int64]*slot{}},
	}
	c.lines.longest = 1 // until it has said something that is a message
	go c.write()
	return c
}

func (c *conn) update(f func(*connState)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.state)
}

// Connect implements [mcp.Transport].
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements [mcp.Connection].
func (c *conn) SessionID() string { return "" }

// Close implements [mcp.Connection]. The SDK calls it with a lock held, so it only makes Read return.
func (c *conn) Close() error {
	c.update(func(st *connState) { st.closed = true })
	c.process.Hangup()
	return nil
}

// finish ends the writer. The process has ended before.
func (c *conn) finish() {
	c.update(func(st *connState) {
		if !st.finished {
			st.finished = true
			if st.expiry != nil {
				st.expiry.Stop()
			}
			close(c.done)
		}
	})
	<-c.wrote
}

// breaks says that this connection carries nothing any more.
func (c *conn) breaks() {
	c.update(func(st *connState) {
		if !st.broken {
			st.broken, st.lost = true, !st.closed
			close(c.broken)
		}
	})
}

// isLost says whether the server ended the connection.
func (c *conn) isLost() (lost bool) {
	c.update(func(st *connState) { lost = st.lost })
	return lost
}

// stopFor breaks the connection for what the server did.
func (c *conn) stopFor(fault error) {
	c.log.Warn("server is stopped", "error", fault)
	c.update(func(st *connState) { st.fault = fault })
	c.breaks()
}

func (c *conn) fault() (fault error) {
	c.update(func(st *connState) { fault = st.fault })
	return fault
}

func (c *conn) isBroken() bool {
	select {
	case <-c.broken:
		return true
	default:
		return false
	}
}

// cancelAll ends every call, and those that are still to come.
func (c *conn) cancelAll(cause error) {
	c.update(func(st *connState) {
		st.cause = cause
		for _, s := range st.slots {
			s.cancel(cause)
		}
	})
}

// expect gives the slot a progress token.
func (c *conn) expect(s *slot) (token int64) {
	c.update(func(st *connState) {
		st.tokens++
		s.token = st.tokens
		st.slots[s.token] = s
		if st.cause != nil {
			s.cancel(st.cause)
		}
		if s.timeout > 0 && st.expiry == nil {
			st.expiry = time.AfterFunc(s.timeout, c.expire)
		}
	})
	return s.token
}

// expire cancels the calls that have taken too long. One timer serves all calls and is not stopped with them: setting
// one for each would cost a call that takes microseconds more than anything else here.
func (c *conn) expire() {
	c.update(func(st *connState) {
		now, next := time.Now(), time.Duration(0)
		for _, s := range st.slots {
			left := s.ends.Sub(now)
			switch {
			case s.timeout == 0:
			case left <= 0:
				s.cancel(&timeoutError{s.what, s.timeout})
			case next == 0 || left < next:
				next = left
			}
		}
		st.expiry = nil
		if next > 0 && !st.finished {
			st.expiry = time.AfterFunc(next, c.expire)
		}
	})
}

// take returns what has come for the slot. Nothing comes into it any more.
func (c *conn) take(s *slot) (result json.RawMessage, err error) {
	c.update(func(st *connState) {
		delete(st.slots, s.token)
		for id, r := range st.requests {
			if r.slot == s {
				delete(st.requests, id)
			}
		}
		result, err = s.result, s.err
	})
	return result, err
}

// Write implements [mcp.Connection]. It returns when the writer has taken the message.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if _, ok := msg.(*jsonrpc.Response); ok {
		defer c.update(func(st *connState) { st.owed-- })
	}
	data, err := encode(msg)
	if err != nil {
		return err
	}
	slot := c.register(ctx, msg)
	select {
	case c.out <- data:
		if slot != nil {
			slot.sent = true
		}
		return nil
	case <-c.broken:
		return io.ErrClosedPipe
	case <-c.done:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// register notes that the answer to a request goes into its context's slot, and returns that. A notification
// may carry the context of the call it cancels; it has no answer.
func (c *conn) register(ctx context.Context, msg jsonrpc.Message) *slot {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return nil
	}
	slot := slotOf(ctx)
	if id, ok := req.ID.Raw().(int64); ok && slot != nil {
		c.update(func(st *connState) { st.requests[id] = request{req.ID, req.Method, slot} })
	}
	return slot
}

// encode is jsonrpc.EncodeMessage, without its second look at the parameters of a request, which
// may be many megabytes.
func encode(msg jsonrpc.Message) ([]byte, error) {
	req, ok := msg.(*jsonrpc.Request)
	id, isInt := int64(0), false
	if ok {
		id, isInt = req.ID.Raw().(int64)
	}
	if !isInt || len(req.Params) == 0 {
		data, err := jsonrpc.EncodeMessage(msg)
		return append(data, '\n'), err
	}
	data := make([]byte, 0, len(req.Params)+len(req.Method)+64)
	data = append(data, `{"jsonrpc":"2.0","id":`...)
	data = strconv.AppendInt(data, id, 10)
	data = append(data, `,"method":`...)
	data = strconv.AppendQuote(data, req.Method) // the SDK's own names, plain ASCII
	data = append(data, `,"params":`...)
	data = append(data, req.Params...)
	return append(data, "}\n"...), nil
}

// write is the writer.
func (c *conn) write() {
	defer close(c.wrote)
	for {
		select {
		case data := <-c.out:
			if _, err := c.process.Stdin().Write(data); err != nil {
				c.log.Debug("writing to server", "error", err)
				c.breaks() // what it has said already is still read
				return
			}
		case <-c.done:
			return
		}
	}
}

// Read implements [mcp.Connection]. Lines that are no JSON-RPC messages are skipped: many a server
// greets its user on standard output.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := c.lines.next()
		var long *longLineError
		if errors.As(err, &long) {
			c.log.Warn("skipping a message", "error", err)
			if msg := c.fail(long.id, err); msg != nil {
				return msg, nil
			}
			continue
		}
		var endless *endlessError
		if errors.As(err, &endless) {
			c.stopFor(err)
		}
		if err != nil {
			c.breaks()
			return nil, io.EOF
		}
		msg := c.message(line)
		if msg == nil {
			continue
		}
		if !c.owe(msg) {
			c.stopFor(fmt.Errorf("the server left %d answers unread and kept asking, so it was stopped", maxOwed))
			return nil, io.EOF
		}
		return msg, nil
	}
}

// maxOwed is how many requests of the server may be without an answer: the SDK keeps each until then.
const maxOwed = 1000

// owe counts a message that the server wants an answer to. It is false when there are too many.
func (c *conn) owe(msg jsonrpc.Message) bool {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return true
	}
	enough := true
	c.update(func(st *connState) {
		st.owed++
		enough = st.owed <= maxOwed
	})
	return enough
}

// message turns a line into the message the SDK gets, nil when that is none of its business.
func (c *conn) message(line string) jsonrpc.Message {
	env, err := parseEnvelope(line)
	if err != nil {
		if env.id != 0 {
			return c.fail(env.id, err)
		}
		c.skip(line, err)
		return nil
	}
	c.lines.longest = longest
	if env.method == "notifications/progress" {
		c.progress(gjson.Get(line, "params.progressToken").Int())
		return nil
	}
	if env.method == "" {
		if msg, mine := c.answer(env); mine {
			return msg
		}
	}
	msg, err := jsonrpc.DecodeMessage([]byte(line))
	if err != nil {
		c.skip(line, err)
		return nil
	}
	return msg
}

// maxSkipped is how many bytes the log has of a line that is no message.
const maxSkipped = 8 << 10

func (c *conn) skip(line string, err error) {
	if line == "" || !c.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	c.log.Debug("skipping a line that is no message", "line", c.secrets.Head(line[:min(len(line), maxSkipped)], len(line) > maxSkipped), "error", err)
}

// standIns are what the SDK gets for an answer that went into a slot.
var standIns = map[string]json.RawMessage{
	"tools/call": json.RawMessage(`{"content":[]}`),
	"tools/list": json.RawMessage(`{"tools":[]}`),
}

// answer puts an answer into its slot. mine is false when it has none.
func (c *conn) answer(env envelope) (msg jsonrpc.Message, mine bool) {
	if c.newest && gjson.Get(env.result, "resultType").String() == "input_required" {
		return nil, false // no answer yet: the SDK fulfils the request and asks again
	}
	req, ok := c.retire(env.id, func(s *slot) {
		switch {
		case env.err != "":
			s.err = wireError(env.err)
		case !gjson.Parse(env.result).IsObject():
			s.err = errors.New("the server's answer is not an object")
		default:
			s.result = json.RawMessage(env.result)
		}
	})
	if !ok {
		return nil, false
	}
	return &jsonrpc.Response{ID: req.id, Result: standIns[req.method]}, true
}

// fail answers a request with an error of this side's making.
func (c *conn) fail(id int64, err error) jsonrpc.Message {
	req, ok := c.retire(id, func(s *slot) { s.err = err })
	if !ok {
		return nil
	}
	return &jsonrpc.Response{ID: req.id, Result: standIns[req.method]}
}

// retire fills the slot of a request.
func (c *conn) retire(id int64, fill func(*slot)) (req request, ok bool) {
	c.update(func(st *connState) {
		if req, ok = st.requests[id]; ok {
			delete(st.requests, id)
			fill(req.slot)
		}
	})
	return req, ok
}

func (c *conn) progress(token int64) {
	c.update(func(st *connState) {
		if s, ok := st.slots[token]; ok {
			s.progress()
		}
	})
}
