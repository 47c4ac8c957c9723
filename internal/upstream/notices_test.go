package upstream

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestLongNoticesAreNotRead: a notification that is longer than anybody reads is passed over before it is decoded, as
// far as its beginning says what it is before it is even kept. Of a log message there is left that there was one.
func TestLongNoticesAreNotRead(t *testing.T) {
	for _, method := range []string{"message", "progress", "none", "resources/updated", "tools/list_changed"} {
		method = "notifications/" + method
		line := withValues(method, 200_000)
		params := line[strings.Index(line, `"params"`) : len(line)-1]
		last := `{"jsonrpc":"2.0",` + params + `,"method":"` + method + `"}`
		lines := newLineReader(strings.NewReader(line+"\nnext\n"), 1<<20)
		_, err := lines.next()
		var long *longNotice
		if !errors.As(err, &long) || long.method != method || long.bytes != len(line)+1 {
			t.Errorf("%s is %v", method, err)
			continue
		}
		if next, err := lines.next(); string(next) != "next" || err != nil {
			t.Errorf("behind %s comes %q, %v", method, next, err)
		}
		c := connected(nil)
		c.rooms = newRooms(1 << 20)
		stream := io.NopCloser(strings.NewReader("data: " + line + "\n\n"))
		events, err := io.ReadAll(newEventBody(stream, nil, &remote{calls: c}, outgoing{}))
		if err != nil || len(events) > 300 || strings.Contains(string(events), method) != (method == logMethod) {
			t.Errorf("by URL %s is %.200q, %v", method, events, err)
		}
		msgs := []jsonrpc.Message{c.unread(long)}
		for _, text := range []string{line, last} {
			msg, _ := c.message([]byte(text), nil)
			msgs = append(msgs, msg)
		}
		for i, msg := range msgs {
			req, _ := msg.(*jsonrpc.Request)
			told := req != nil && len(req.Params) < 200 && strings.Contains(string(req.Params), "a message of 6000")
			if log := method == logMethod; log && !told || !log && msg != nil {
				t.Errorf("of %s the SDK gets %.200v", method, msg)
			} else if log && i < 2 && !strings.Contains(string(req.Params), `"error"`) {
				t.Errorf("its level is lost: %s", req.Params)
			}
		}
	}
	fits := withValues("notifications/message", 20_000)
	lines := newLineReader(strings.NewReader(fits+"\n"), 1<<20)
	text, err := lines.next()
	if err != nil || string(text) != fits {
		t.Fatalf("what fits is %.40q, %v", text, err)
	}
	msg, _ := connected(nil).message(text, nil)
	if req, _ := msg.(*jsonrpc.Request); req == nil || len(req.Params) < 60_000 {
		t.Errorf("of what fits the SDK gets %.200v", msg)
	}
}

// TestLongNoticesLeaveNoGarbage holds that what is passed over takes no memory, however much of it there is.
func TestLongNoticesLeaveNoGarbage(t *testing.T) {
	line := withValues("notifications/message", 200_000) + "\n"
	const count = 20
	lines := newLineReader(strings.NewReader(strings.Repeat(line, count)), 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for {
		if _, err := lines.next(); err == io.EOF {
			break
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / count; each > 200_000 {
		t.Errorf("a notification of %d bytes leaves %d bytes of garbage", len(line), each)
	}
}
