package upstream

import (
	"errors"
	"io"
	"strings"
)

// eventBody is a stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html, read
// November 2026) in which each message is what [calls.message] leaves of it. An event whose message is none of the
// SDK's business stays, without it: its id is where the stream is resumed.
type eventBody struct {
	body   io.ReadCloser
	lines  *lineReader
	remote *remote
	id     int64 // of the request whose answer comes on this stream; 0 is none
	out    []byte
}

func newEventBody(body io.ReadCloser, r *remote, id int64) *eventBody {
	return &eventBody{body: body, lines: newLineReader(body, r.limit), remote: r, id: id}
}

func (b *eventBody) Close() error { return b.body.Close() }

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

// next reads one event.
func (b *eventBody) next() error {
	var rest, data strings.Builder
	name, lines, long := "", 0, false
	for {
		line, err := b.lines.next()
		var tooLong *longLineError
		switch {
		case errors.As(err, &tooLong):
			long = true
			continue
		case err != nil:
			return b.ended(err)
		case line == "" && lines == 0 && rest.Len() == 0 && !long:
			continue
		case line == "":
			b.event(name, rest.String(), data.String(), long)
			return nil
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		if field != "data" {
			if field == "event" {
				name = value
			}
			rest.WriteString(line + "\n")
			continue
		}
		if lines++; lines > 1 {
			data.WriteByte('\n')
		}
		if long = long || data.Len()+len(value) > b.remote.limit; !long {
			data.WriteString(value)
		}
	}
}

// ended is the end of a stream. An endless line is the server's fault.
func (b *eventBody) ended(err error) error {
	var endless *endlessError
	if errors.As(err, &endless) {
		b.remote.stopFor(err)
	}
	return err
}

// event has the SDK read an event next.
func (b *eventBody) event(name, rest, data string, long bool) {
	if name == "" || name == "message" {
		switch {
		case long:
			data = b.shown(b.remote.failed(b.id, &longLineError{limit: b.remote.limit}))
		case data != "":
			data = b.shown(b.remote.shown(data, 0))
		}
	}
	if data != "" {
		rest += "data: " + data + "\n"
	}
	b.out = []byte(rest + "\n")
}

func (b *eventBody) shown(data []byte) string { return strings.TrimSpace(string(data)) }
