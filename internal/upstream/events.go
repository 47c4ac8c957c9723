package upstream

import (
	"bufio"
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
	of     outgoing // the request whose answer comes on this stream
	ids    bool     // its events have some, by which the SDK resumes it
	out    []byte
}

func newEventBody(body io.ReadCloser, r *remote, of outgoing) *eventBody {
	// A buffer for one answer, which most often is small.
	lines := &lineReader{bufio.NewReaderSize(body, 2*maxField), r.limit, longest}
	return &eventBody{body: body, lines: lines, remote: r, of: of}
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

// maxField bounds what stands beside the data of an event, each field for itself: an event need never end.
const maxField = 4 << 10

// next reads one event. Of a field that comes twice the last counts; what is none of the standard's is left out.
func (b *eventBody) next() error {
	fields := map[string]string{}
	var data []string
	size, long := 0, false
	for {
		line, err := b.lines.next()
		var tooLong *longLineError
		switch {
		case errors.As(err, &tooLong):
			long = true
			continue
		case err != nil:
			return b.ended(err)
		case line == "" && data == nil && len(fields) == 0 && !long:
			continue
		case line == "":
			b.event(fields, strings.Join(data, "\n"), long)
			return nil
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			size += len(value) + 16 // what an empty one takes, too
			if long = long || size > b.remote.limit; !long {
				data = append(data, value)
			}
		case "event", "id", "retry":
			if len(value) <= maxField {
				fields[field] = value
			}
		}
	}
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

// event has the SDK read an event next.
func (b *eventBody) event(fields map[string]string, data string, long bool) {
	if name := fields["event"]; name == "" || name == "message" {
		switch {
		case long:
			data = b.shown(b.remote.failed(b.of.id, &longLineError{limit: b.remote.limit}))
		case data != "":
			data = b.shown(b.remote.shown(data, outgoing{slot: b.of.slot}))
		}
	}
	if data == "" && b.remote.sse { // whose client reads every event as a message, and resumes nothing
		return
	}
	b.ids = b.ids || fields["id"] != ""
	var out strings.Builder
	for _, field := range []string{"event", "id", "retry"} {
		if value, ok := fields[field]; ok {
			out.WriteString(field + ": " + value + "\n")
		}
	}
	for line := range strings.SplitSeq(data, "\n") {
		if data != "" {
			out.WriteString("data: " + line + "\n")
		}
	}
	b.out = []byte(out.String() + "\n")
}

func (b *eventBody) shown(data []byte) string { return strings.TrimSpace(string(data)) }
