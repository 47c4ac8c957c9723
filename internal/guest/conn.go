package guest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"codemode/internal/fair"
)

// ErrProtocol is what a guest that does not keep to docs/protocol.md makes of its channel. Errors
// that wrap it say what was wrong and quote the beginning of the line.
var ErrProtocol = errors.New("guest protocol violated")

// ErrUnwanted is what a function given to LimitReading returns of a message that nobody wants any more.
var ErrUnwanted = errors.New("the message is not wanted any more")

// errTooLong is returned for a message that does not fit into a line.
var errTooLong = errors.New("message too long")

// bufferSize is what a Conn keeps for reading, and up to which it gathers a message for one write:
// a message of output is at most this long before encoding.
const bufferSize = 64 << 10

// A Conn reads and writes messages, one a line. Read may be called from one goroutine at a time, the
// other methods from any number of them. A Conn starts no goroutine and needs no Close; closing the
// stream below it ends a Read and a write that wait.
type Conn struct {
	max     int
	r       *bufio.Reader
	line    *[]byte // the last one, as far as it is not its reader's; see buffers
	readErr error   // what ended reading

	acquire func(size int) (release func()) // before what is long is parsed; nil where parsing has no limit
	large   int                             // bytes of a line
	begin   func(answer bool) error         // before more are read; nil where reading has no limit

	writes   *fair.Queue // messages arrive in the order in which they were queued
	w        io.Writer
	buf      []byte
	writeErr error // what ended writing, perhaps in the midst of a line
}

// NewConn returns a Conn over a stream whose lines have at most maxMessage bytes, in either direction.
func NewConn(rw io.ReadWriter, maxMessage int) *Conn {
	return &Conn{max: maxMessage, r: bufio.NewReaderSize(rw, bufferSize), writes: fair.New(1, 0), w: rw}
}

// LimitParsing has Read call acquire before it parses a message that is longer than a buffer, which keeps a processor
// busy, and release behind that. It is called before the first Read.
func (c *Conn) LimitParsing(acquire func(size int) (release func())) { c.acquire = acquire }

// LimitReading has Read call begin once in a message that turns out to be large, before it reads the rest: the guest
// has to keep that meanwhile. answer says that it is, or may be, the answer to a request. Of any other message an
// ErrUnwanted of begin's has the rest thrown away; Read returns a request as Unread, and nothing of a notification. Any
// other error of begin's is Read's. It is called before the first Read.
func (c *Conn) LimitReading(large int, begin func(answer bool) error) {
	c.large, c.begin = large, begin
}

// Read returns the next message. Its raw members are the caller's to keep, those of a notification until the next Read.
// The error is io.EOF when the stream ended (wrapped, when that was within a message), it wraps ErrProtocol when the
// message was not a legal one, and is the stream's own otherwise. Every error is final.
func (c *Conn) Read() (Message, error) {
	if c.readErr != nil {
		return Message{}, c.readErr
	}
	c.release()
	line, err := c.readLine()
	if errors.Is(err, ErrUnwanted) {
		return c.skip(line)
	}
	if err != nil {
		c.readErr = err
		return Message{}, err
	}
	if c.acquire != nil && len(line) > bufferSize {
		defer c.acquire(len(line))()
	}
	m, err := parseMessage(line)
	if err != nil {
		c.readErr = fmt.Errorf("%w: %w: %.60q", ErrProtocol, err, line)
		return Message{}, c.readErr
	}
	if m.HasID {
		c.handOver(&m, len(line))
	}
	return m, nil
}

// skip reads a line to its end, of which it is given the beginning, and returns what is to be known of it, or the next
// message.
func (c *Conn) skip(begun []byte) (Message, error) {
	id, isRequest, _ := readHead(begun)
	for {
		_, err := c.r.ReadSlice('\n')
		switch {
		case err == nil && isRequest:
			return Message{ID: id, HasID: true, Unread: true}, nil
		case err == nil:
			return c.Read()
		case !errors.Is(err, bufio.ErrBufferFull):
			c.readErr = err
			return Message{}, err
		}
	}
}

// handOver has the caller keep the members of a message: those of a large one are not copied for that.
func (c *Conn) handOver(m *Message, size int) {
	if size > bufferSize {
		c.line = nil
		return
	}
	m.Params, m.Result = bytes.Clone(m.Params), bytes.Clone(m.Result)
}

// release gives back what the last message was read into.
func (c *Conn) release() {
	if c.line != nil {
		giveBack(c.line)
		c.line = nil
	}
}

// pieceSize is what a large line is kept in pieces of until it is whole.
const pieceSize = 1 << 20

// readLine returns the next line without its newline. Of one that is not whole it holds what has arrived, and at most
// a piece more.
func (c *Conn) readLine() ([]byte, error) {
	var pieces [][]byte
	var line []byte // the last piece
	defer func() {
		if pieces == nil && line != nil {
			*c.line = line
		}
	}()
	size, begun := 0, c.begin == nil
	for {
		if !begun && size >= c.large {
			begun = true
			head := slices.Concat(append(pieces, line)...)
			_, isRequest, isNotice := readHead(head)
			if err := c.begin(!isRequest && !isNotice); err != nil {
				return head, err
			}
		}
		part, err := c.r.ReadSlice('\n')
		if line == nil { // which waits for a message without a buffer
			c.line = buffers.Get().(*[]byte)
			line = (*c.line)[:0]
		}
		if size+len(bytes.TrimSuffix(part, newline)) > c.max {
			first := slices.Concat(pieces, [][]byte{line})[0]
			begin := slices.Concat(first[:min(len(first), 60)], part)
			return nil, fmt.Errorf("%w: a line of more than %d bytes: %.60q", ErrProtocol, c.max, begin)
		}
		if len(line)+len(part) > pieceSize {
			pieces, line = append(pieces, line), make([]byte, 0, pieceSize)
		}
		if cap(line)-len(line) < len(part) {
			line = slices.Grow(line, max(len(line), len(part)))
		}
		line = append(line, part...)
		size += len(part)
		switch {
		case err == nil && pieces == nil:
			return line[:size-1], nil
		case err == nil:
			return slices.Concat(append(pieces, line)...)[:size-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && size > 0:
			return nil, fmt.Errorf("%w within a message", err)
		default:
			return nil, err
		}
	}
}

// Request queues a request: it is sent by send, before all that is queued later. The caller calls that.
func (c *Conn) Request(id int64, method string, params any) (send func() error) {
	return c.queue(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":`, id, method), method, params)
}

// Notify queues a notification, as Request does a request.
func (c *Conn) Notify(method string, params any) (send func() error) {
	return c.queue(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":`, method), method, params)
}

func (c *Conn) queue(head []byte, method string, params any) (send func() error) {
	body, err := marshal(params)
	if err != nil {
		return func() error { return fmt.Errorf("encoding %s: %w", method, err) }
	}
	place := c.writes.Join("", 1)
	return func() error {
		if err := c.write(place, head, body, tail); err != nil {
			return fmt.Errorf("sending %s: %w", method, err)
		}
		return nil
	}
}

// Respond answers a request of the guest's with a result, which is sent as it is. A result that
// does not fit into a message is answered with an error instead: every request has an answer.
func (c *Conn) Respond(id int64, result json.RawMessage) error {
	if len(result) == 0 {
		result = json.RawMessage("null")
	}
	if bytes.IndexByte(result, '\n') >= 0 {
		var compact bytes.Buffer
		if err := json.Compact(&compact, result); err != nil {
			return c.RespondError(id, codeInternal, "the result is not JSON", ErrorData{})
		}
		result = compact.Bytes()
	}
	// The id comes first: the guest reads it from there when the result is beyond Python's reach.
	head := append(strconv.AppendInt([]byte(`{"jsonrpc":"2.0","id":`), id, 10), `,"result":`...)
	err := c.write(c.writes.Join("", 1), head, result, tail)
	if errors.Is(err, errTooLong) {
		text := fmt.Sprintf("the result has %d bytes; at most %d fit into a message", len(result), c.max)
		return c.RespondError(id, codeInternal, text, ErrorData{})
	}
	if err != nil {
		return fmt.Errorf("answering request %d: %w", id, err)
	}
	return nil
}

// RespondError answers a request of the guest's with an error.
func (c *Conn) RespondError(id int64, code int, message string, data ErrorData) error {
	body, err := marshal(struct {
		Code    int       `json:"code"`
		Message string    `json:"message"`
		Data    ErrorData `json:"data"`
	}{code, message, data})
	if err != nil {
		return fmt.Errorf("encoding an error: %w", err)
	}
	head := append(strconv.AppendInt([]byte(`{"jsonrpc":"2.0","id":`), id, 10), `,"error":`...)
	if err := c.write(c.writes.Join("", 1), head, body, tail); err != nil {
		return fmt.Errorf("answering request %d: %w", id, err)
	}
	return nil
}

var (
	newline = []byte("\n")
	tail    = []byte("}\n")
)

// write sends one line in its turn, given in parts so that a large one is not copied.
func (c *Conn) write(turn *fair.Turn, parts ...[]byte) error {
	defer turn.Leave()
	size := -len(newline)
	for _, part := range parts {
		size += len(part)
	}
	if size > c.max {
		return fmt.Errorf("%w: %d bytes, at most %d", errTooLong, size, c.max)
	}
	if err := turn.Wait(context.Background()); err != nil { // the stream's end ends every write
		return err
	}
	if size <= bufferSize {
		c.buf = c.buf[:0]
		for _, part := range parts {
			c.buf = append(c.buf, part...)
		}
		parts = [][]byte{c.buf}
	}
	for _, part := range parts {
		if c.writeErr == nil {
			_, c.writeErr = c.w.Write(part)
		}
	}
	return c.writeErr
}

// marshal is json.Marshal without the escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), newline), nil
}
