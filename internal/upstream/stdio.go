package upstream

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/proc"
)

// stdio is the transport to one process: [mcp.Transport] and the one [mcp.Connection] it connects.
//
// The SDK's reading goroutine is the only reader of the process's output. The connection's own goroutine
// is the only writer of its input, so that a server which does not read holds up no caller past
// its context.
type stdio struct {
	*calls
	process *proc.Process
	lines   *lineReader
	out     chan []byte   // to the writer
	queued  atomic.Int64  // messages that the writer has still to write
	wrote   chan struct{} // closed when the writer has ended
}

func newStdio(p *proc.Process, maxMessage int, c *calls) *stdio {
	t := &stdio{
		calls: c, process: p, lines: newLineReader(p.Stdout(), maxMessage),
		out: make(chan []byte), wrote: make(chan struct{}),
	}
	c.reply = t.Write
	t.lines.longest = 1 // until it has said something that is a message
	t.lines.room = c.room(c.life, c.stopFor)
	go t.write()
	return t
}

// Connect implements [mcp.Transport].
func (t *stdio) Connect(context.Context) (mcp.Connection, error) { return t, nil }

// SessionID implements [mcp.Connection].
func (t *stdio) SessionID() string { return "" }

// Close implements [mcp.Connection]. The SDK calls it with a lock held, so it only makes Read return.
func (t *stdio) Close() error {
	t.closes()
	t.process.Hangup()
	return nil
}

// end implements [connection].
func (t *stdio) end(client *mcp.ClientSession, grace time.Duration) {
	_ = t.process.Stop(grace)
	t.finish()
	<-t.wrote
	if client != nil {
		_ = client.Close()
	}
	t.work.Wait()
}

// exit implements [connection].
func (t *stdio) exit() error {
	if err := t.process.Err(); err != nil {
		return err
	}
	return errors.New("exit status 0")
}

// stderr implements [connection].
func (t *stdio) stderr() (text string, cut bool) { return t.process.Stderr() }

// place implements [connection].
func (t *stdio) place() slog.Attr { return slog.Int("pid", t.process.Pid()) }

// Write implements [mcp.Connection]. It returns when the writer has taken the message.
func (t *stdio) Write(ctx context.Context, msg jsonrpc.Message) error {
	if _, ok := msg.(*jsonrpc.Response); ok {
		defer t.answered()
	}
	data, err := encode(msg)
	if err != nil {
		return err
	}
	slot := t.expected(ctx, msg)
	if t.queued.Load() == 0 && ctx.Err() == nil && t.process.WriteNow(data) { // which spares waking the writer
		slot.mark(true)
		return nil
	}
	t.queued.Add(1)
	select {
	case t.out <- data:
		slot.mark(true)
		return nil
	case <-t.broken:
		t.queued.Add(-1)
		return io.ErrClosedPipe
	case <-t.done:
		t.queued.Add(-1)
		return io.ErrClosedPipe
	case <-ctx.Done():
		t.queued.Add(-1)
		return ctx.Err()
	}
}

// expected returns the slot that the answer to a message goes into, if it has one. A notification
// may carry the context of the call it cancels; it has no answer.
func (t *stdio) expected(ctx context.Context, msg jsonrpc.Message) *slot {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return nil
	}
	slot := slotOf(ctx)
	if slot != nil {
		t.register(request{req.ID, req.Method, slot})
	} else {
		t.listensBy(req)
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
func (t *stdio) write() {
	defer close(t.wrote)
	for {
		select {
		case data := <-t.out:
			if _, err := t.process.Stdin().Write(data); err != nil {
				t.log.Debug("writing to server", "error", err)
				t.breaks() // what it has said already is still read
				return
			}
			t.queued.Add(-1)
		case <-t.done:
			return
		}
	}
}

// Read implements [mcp.Connection]. Lines that are no JSON-RPC messages are skipped: many a server
// greets its user on standard output.
func (t *stdio) Read(context.Context) (jsonrpc.Message, error) {
	for {
		t.lines.room.leave()
		t.pace.wait()
		line, err := t.lines.next()
		t.lines.room.whole()
		var long *longLineError
		if errors.As(err, &long) {
			t.log.Warn("skipping a message", "error", err)
			if msg := t.fail(long.id, err); msg != nil {
				return msg, nil
			}
			t.pace.count(costOfNotice, long.limit)
			continue
		}
		var notice *longNotice
		if errors.As(err, &notice) {
			t.pace.count(costForSDK, notice.bytes)
			if msg := t.unread(notice); msg != nil {
				return msg, nil
			}
			continue
		}
		var endless *endlessError
		if errors.As(err, &endless) {
			t.stopFor(err)
		}
		if err != nil {
			t.lines.room.close()
			t.breaks()
			return nil, io.EOF
		}
		msg, ok := t.message(line, nil)
		if ok {
			t.lines.longest = longest
		}
		if msg == nil {
			continue
		}
		if t.expectAnswer(msg) != nil {
			return nil, io.EOF
		}
		return msg, nil
	}
}
