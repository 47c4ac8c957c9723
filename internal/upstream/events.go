package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// eventBody is a stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html, read
// November 2026) in which each message is what [calls.message] leaves of it. An event whose message is none of the
// SDK's business stays, without it: its id is where the stream is resumed.
type eventBody struct {
	body   io.ReadCloser
	lines  *lineReader
	remote *remote
	of     outgoing // the request whose answer comes on this stream
	ids    bool     // its events have some, by which the SDK resumes it
	out    []byte
}

func newEventBody(body io.ReadCloser, room *room, r *remote, of outgoing) *eventBody {
	// A buffer for one answer, which most often is small.
	lines := &lineReader{
		r: bufio.NewReaderSize(body, 2*maxField), limit: r.rooms.limit, longest: longest, room: room,
		idle: func() bool { return !r.spoken.Load() },
	}
	return &eventBody{body: body, lines: lines, remote: r, of: of}
}

func (b *eventBody) Close() error {
	b.room().close()
	return b.body.Close()
}

func (b *eventBody) room() *room { return b.lines.room }

func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// maxField bounds what stands beside the data of an event, each field for itself: an event need never end.
const maxField = 4 << 10

// event is what has come of one.
type event struct {
	fields map[string]string // beside data
	data   [][]byte
	size   int
	wrong  error // why its data is not read
}

func (e event) text() []byte {
	if len(e.data) == 1 { // which may be large
		return e.data[0]
	}
	return bytes.Join(e.data, []byte("\n"))
}

// next reads one event. Of a field that comes twice the last counts; what is none of the standard's is left out.
func (b *eventBody) next() error {
	b.room().leave()
	e := event{fields: map[string]string{}}
	for {
		b.remote.pace.wait()
		line, err := b.lines.next()
		b.remote.pace.count(costOfLine, 0)
		var long *longLineError
		switch {
		case errors.As(err, &long):
			e.wrong, e.data = long, nil
		case err != nil:
			if e.wrong = b.room().gaveUp(); e.wrong == nil {
				return b.ended(err)
			}
			b.pass(e)
			return nil
		case len(line) > 0:
			if err := b.field(&e, line); err != nil {
				return err
			}
		case e.data != nil || len(e.fields) > 0 || e.wrong != nil:
			b.pass(e)
			return nil
		}
	}
}

// field adds a line to an event.
func (b *eventBody) field(e *event, line []byte) error {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch name := string(field); name {
	case "event", "id", "retry":
		if len(value) <= maxField {
			e.fields[name] = string(value)
		}
	case "data":
		e.size += len(value) + 16 // what an empty one takes, too
		switch {
		case e.size > b.remote.rooms.limit:
			e.wrong, e.data = &longLineError{limit: b.remote.rooms.limit}, nil
			b.room().leave()
		case e.wrong == nil:
			e.data = append(e.data, value)
			if e.size > smallMessage {
				return b.room().grow(0)
			}
		}
	}
	return nil
}

// ended is the end of a stream. An endless line is the server's fault.
func (b *eventBody) ended(err error) error {
	var endless *endlessError
	if errors.As(err, &endless) {
		b.remote.stopFor(err)
	}
	if b.of.method == methodListen && !b.ids {
		b.remote.cutOff(b.of.id)
	}
	return err
}

// pass has the SDK read an event next.
func (b *eventBody) pass(e event) {
	b.room().whole()
	data := e.text()
	if name := e.fields["event"]; name == "" || name == "message" {
		switch {
		case e.wrong != nil:
			data = b.remote.failed(b.of.id, e.wrong)
		case len(data) > 0:
			data = b.remote.shown(data, outgoing{slot: b.of.slot})
		}
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 && b.remote.sse { // whose client reads every event as a message, and resumes nothing
		return
	}
	b.ids = b.ids || e.fields["id"] != ""
	var out bytes.Buffer
	for _, field := range []string{"event", "id", "retry"} {
		if value, ok := e.fields[field]; ok {
			out.WriteString(field + ": " + value + "\n")
		}
	}
	if len(data) > 0 {
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			out.WriteString("data: ")
			out.Write(line)
			out.WriteByte('\n')
		}
	}
	out.WriteByte('\n')
	b.out = out.Bytes()
}
