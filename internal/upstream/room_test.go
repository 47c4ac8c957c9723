package upstream

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"codemode/internal/fair"
)

// staller is a server whose answers stop before their ends.
type staller struct {
	begin   func(w http.ResponseWriter, id string) (end string) // writes an answer up to that
	stalled atomic.Int32                                        // answers of which so much has been taken
	goOn    chan struct{}
}

func (s *staller) call(w http.ResponseWriter, id string) {
	end := s.begin(w, id)
	_ = http.NewResponseController(w).Flush()
	s.stalled.Add(1)
	<-s.goOn
	_, _ = io.WriteString(w, end)
}

const (
	stalledText = 24 << 20 // which is more than all buffers on the way
	stalledHead = `,"result":{"content":[{"type":"text","text":"`
	stalledEnd  = `"}]}}`
)

// stalling are the ways in which an answer can come.
var stalling = map[string]func(w http.ResponseWriter, id string) (end string){
	"with its length": func(w http.ResponseWriter, id string) string {
		head := `{"jsonrpc":"2.0","id":` + id + stalledHead
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(head)+stalledText+len(stalledEnd)))
		_, _ = io.WriteString(w, head+strings.Repeat("x", stalledText))
		return stalledEnd
	},
	"in chunks": func(w http.ResponseWriter, id string) string {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+stalledHead+strings.Repeat("x", stalledText))
		return stalledEnd
	},
	"as an event": func(w http.ResponseWriter, id string) string {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+id+stalledHead+strings.Repeat("x", stalledText))
		return stalledEnd + "\n\n"
	},
	"as an event of many lines": func(w http.ResponseWriter, id string) string {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+id+`,"result":{"content":[`+"\n")
		const line = `data: {"type":"text","text":"`
		item := line + strings.Repeat("x", 1000-len(line)) + "\"},\n"
		for range stalledText / len(item) * 98 / 100 { // each counts for a little more
			_, _ = io.WriteString(w, item)
		}
		return `data: {"type":"text","text":""}]}}` + "\n\n"
	},
}

// TestLargeAnswersAtOnce has a server answer six calls with large answers at once: of no more than three it is read.
func TestLargeAnswersAtOnce(t *testing.T) {
	for name, begin := range stalling {
		t.Run(name, func(t *testing.T) {
			s := &staller{begin: begin, goOn: make(chan struct{})}
			site := newSite(t, scripted(s.call))
			f := newPool(t, func(o *Options) { o.MaxMessage = stalledText + 1<<10 }, site.at("/"))
			const calls = 6
			sizes, errs := make(chan int, calls), make(chan error, calls)
			for range calls {
				go func() {
					raw, err := f.Call(t.Context(), "far", "any", nil)
					sizes <- len(raw)
					errs <- err
				}()
			}
			f.eventually("all room is taken", func() bool { return s.stalled.Load() >= 3 })
			<-time.After(100 * time.Millisecond)
			if n := s.stalled.Load(); n > 3 {
				t.Errorf("%d answers are read at once", n)
			}
			close(s.goOn)
			for range calls {
				if n, err := <-sizes, <-errs; n < stalledText*9/10 || err != nil {
					t.Errorf("an answer has %d bytes, %v", n, err)
				}
			}
		})
	}
}

// TestStalledAnswerIsGivenUp has servers hold all room with answers that do not end: one is given up for another server.
func TestStalledAnswerIsGivenUp(t *testing.T) {
	const why = "s, while other servers' waited to be read, so it was given up"
	for name, begin := range stalling {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &staller{begin: begin, goOn: make(chan struct{})}
			site := newSite(t, scripted(s.call))
			defer close(s.goOn)
			f := newPool(t, func(o *Options) { o.MaxMessage = stalledText + 1<<10 }, site.at("/"), fake("stub"))
			f.rooms.longest = fair.Limit{}
			errs := make(chan error, messagesAtOnce)
			for range messagesAtOnce {
				go func() {
					_, err := f.Call(t.Context(), "far", "any", nil)
					errs <- err
				}()
			}
			f.eventually("all room is taken", func() bool { return s.stalled.Load() >= 3 })
			if got := f.text("stub", "large", ""); len(got) != 5<<20 {
				t.Errorf("the other's answer has %d bytes", len(got))
			}
			var call *CallError
			if err := <-errs; !errors.As(err, &call) || !strings.Contains(err.Error(), why) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	t.Run("of a program", func(t *testing.T) {
		t.Parallel()
		f := newPool(t, nil, fake("a"), fake("b"), fake("c"), fake("stub"))
		f.rooms.longest = fair.Limit{}
		errs := make(chan error, messagesAtOnce)
		for _, server := range []string{"a", "b", "c"} {
			go func() {
				_, err := f.Call(f.ctx(), server, "unended", nil)
				errs <- err
			}()
		}
		for _, server := range []string{"a", "b", "c"} {
			f.eventually("it is read", func() bool { return f.reads(server) })
		}
		if got := f.text("stub", "large", ""); len(got) != 5<<20 {
			t.Errorf("the other's answer has %d bytes", len(got))
		}
		var call *CallError
		if err := <-errs; !errors.As(err, &call) || !call.Crashed || !strings.Contains(err.Error(), why) {
			t.Errorf("the error is %v", err)
		}
	})
}

// reads says whether a large message of a program's is being read.
func (f *fixture) reads(server string) (reads bool) {
	f.entry(server).update(func(st *serverState) {
		if st.live != nil {
			reads = st.live.conn.(*stdio).lines.room.current() != nil
		}
	})
	return reads
}
