package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"codemode/internal/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wireLog is a Wire that notes what it is told.
type wireLog struct {
	again error

	mu   sync.Mutex
	told []string
}

func (w *wireLog) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, what)
}

func (w *wireLog) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.told, " ")
}

func (w *wireLog) Sent(context.Context)    { w.note("sent") }
func (w *wireLog) Unsent(context.Context)  { w.note("unsent") }
func (w *wireLog) Refused(context.Context) { w.note("refused") }

func (w *wireLog) Again(context.Context) error {
	w.note("again")
	return w.again
}

func (w *wireLog) Turn(context.Context, int) (done func()) { return func() {} }

func (w *wireLog) Failure(context.Context, int) (done func()) { return func() {} }
func (w *wireLog) Answered(context.Context, int)              {}

// turnLog is a Wire that notes who has a turn.
type turnLog struct {
	untold
	asked, left []int // bytes
	failures    int
	read        []int // bytes of answers
}

func (l *turnLog) Answered(_ context.Context, bytes int) {
	if bytes > 0 {
		l.read = append(l.read, bytes)
	}
}

func (l *turnLog) Turn(_ context.Context, bytes int) (done func()) {
	l.asked = append(l.asked, bytes)
	return func() { l.left = append(l.left, bytes) }
}

func (l *turnLog) Failure(_ context.Context, bytes int) (done func()) {
	l.failures++
	return l.Turn(context.Background(), bytes)
}

// TestMaskingTakesTurns holds that secrets are looked for in what a call sends, and in an error that answers it, within
// a turn for as many bytes.
func TestMaskingTakesTurns(t *testing.T) {
	var log turnLog
	f := newPool(t, func(o *Options) { o.Wire = &log }, fake("far"))
	const arguments = `{"message": "hello"}`
	for tool, want := range map[string][]int{
		"echo": {len(arguments)}, "fail": {len(arguments), 1}, "none": {len(arguments), 1},
	} {
		log = turnLog{}
		if _, err := f.Call(t.Context(), "far", tool, json.RawMessage(arguments)); (err != nil) != (tool == "none") {
			t.Errorf("%s: %v", tool, err)
		}
		if log.failures != len(want)-1 || len(log.asked) != len(want) || log.asked[0] != want[0] ||
			!slices.Equal(log.asked, log.left) {
			t.Errorf("%s: turns for %d bytes, left for %d, want %d", tool, log.asked, log.left, want)
		}
	}
}

// TestLongAnswersAreTold: who paces calls knows how much was read of an answer, also of one that is not passed on.
func TestLongAnswersAreTold(t *testing.T) {
	const most = 100_000
	text := func(n int) string { return `{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}` }
	for name, c := range map[string]struct {
		say  func(w http.ResponseWriter, id string)
		want int
	}{
		"an answer":         {func(w http.ResponseWriter, id string) { answer(w, false, id, text(10)) }, len(text(10))},
		"too long":          {func(w http.ResponseWriter, id string) { answer(w, false, id, text(2*most)) }, most},
		"too long a stream": {func(w http.ResponseWriter, id string) { answer(w, true, id, text(2*most)) }, most},
		"a comment without end": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, strings.Repeat(":", 4*most))
		}, longestIdle * most},
	} {
		t.Run(name, func(t *testing.T) {
			var log turnLog
			site := newSite(t, scripted(c.say))
			f := newPool(t, func(o *Options) { o.Wire, o.MaxMessage = &log, most }, site.at("/"))
			if _, err := f.Call(t.Context(), "far", "any", nil); (err == nil) != (c.want == len(text(10))) {
				t.Errorf("the call ended as %v", err)
			}
			if !slices.Equal(log.read, []int{c.want}) {
				t.Errorf("%d bytes were read, want %d", log.read, c.want)
			}
		})
	}
}

// TestTooMuchAtTheStart: a server that says more than is read before it has spoken MCP is not started again at once, and
// little of it is read.
func TestTooMuchAtTheStart(t *testing.T) {
	var asked atomic.Int64
	site := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		asked.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+strings.Repeat("x", 4*100_000))
	}))
	for name, s := range map[string]config.Server{"far": site.at("/"), "floods": fake("floods", "-flood")} {
		f := newPool(t, func(o *Options) { o.MaxMessage = 100_000 }, s)
		if _, err := f.Tools(f.ctx(), name); err == nil || !strings.Contains(err.Error(), "00000 bytes without a line end") {
			t.Errorf("%s: the error is %v", name, err)
		}
		before := asked.Load()
		if _, err := f.Tools(f.ctx(), name); err == nil || !strings.Contains(err.Error(), "next try in") {
			t.Errorf("%s: then it is %v", name, err)
		}
		if n := asked.Load(); n != before {
			t.Errorf("%s: it was asked %d times more", name, n-before)
		}
	}
}

// TestWire holds that whoever counts calls knows what is on its way, and that a call goes out once more only after it
// was asked for.
func TestWire(t *testing.T) {
	no := errors.New("no more calls")
	breaks := func(w http.ResponseWriter, id string) { panic(http.ErrAbortHandler) }
	once := func(first func(http.ResponseWriter, string)) func(http.ResponseWriter, string) {
		var calls atomic.Int64
		return func(w http.ResponseWriter, id string) {
			if calls.Add(1) == 1 {
				first(w, id)
			} else {
				answer(w, false, id, `{"content":[]}`)
			}
		}
	}
	for name, c := range map[string]struct {
		again     error
		far       func(http.ResponseWriter, string) // nil is a server of stdio
		tool      string
		told, err string
	}{
		"refused":              {nil, nil, "open_first", "sent refused again sent", ""},
		"refused for good":     {no, nil, "open_first", "sent refused again", "no more calls"},
		"broken":               {nil, once(breaks), "reads", "sent again sent", ""},
		"broken for good":      {no, once(breaks), "reads", "sent again", "; it was not made again: no more calls"},
		"broken, and unlisted": {nil, once(breaks), "any", "sent", "the connection to the server broke"},
		"later": {nil, once(func(w http.ResponseWriter, _ string) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}), "any", "sent", ""},
		"a stream that is not resumed": {nil, once(func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "id: 5\nretry: 10\ndata: \n\n")
		}), "reads", "sent again sent", ""},
		"a sign-in is wanted": {nil, func(w http.ResponseWriter, _ string) {
			w.WriteHeader(http.StatusUnauthorized)
		}, "any", "sent refused", "wants to know who asks"},
		"a lost session": {nil, once(func(w http.ResponseWriter, _ string) {
			w.WriteHeader(http.StatusNotFound)
		}), "any", "sent unsent refused sent", ""},
		"no session is known": {nil, func(w http.ResponseWriter, _ string) {
			w.WriteHeader(http.StatusNotFound)
		}, "any", "sent unsent refused sent", "no answer came: "},
	} {
		told := wireLog{again: c.again}
		server := fake("far")
		if c.far != nil {
			server = newSite(t, inSession(scripted(c.far))).at("/mcp")
		}
		f := newPool(t, func(o *Options) {
			o.Wire = &told
			o.Answer = func(context.Context, string, About, mcp.InputRequest) (mcp.InputResponse, error) {
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
		}, server)
		_, err := f.Call(t.Context(), "far", c.tool, json.RawMessage(`{}`))
		if told.String() != c.told || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: told %q, %v", name, &told, err)
		}
	}
}

// inSession has a server give its client a session.
func inSession(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "" {
			w.Header().Set("Mcp-Session-Id", "s")
		}
		h.ServeHTTP(w, r)
	})
}
