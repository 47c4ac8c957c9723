package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/build"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"codemode/internal/fakemcp"
)

// TestRemoteAgain has a server lose its sessions, and go away and come back: no call is lost, none is made twice.
func TestRemoteAgain(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/mcp", "/json", "/stateless", "/sse"} {
		t.Run(path, func(t *testing.T) {
			site := newSite(t, fakemcp.Handler())
			f := newPool(t, nil, site.at(path))
			f.text("far", "echo", `{"message":"before"}`)
			site.serve(fakemcp.Handler()) // which knows no session
			var calls sync.WaitGroup
			for range 8 {
				calls.Go(func() {
					raw, err := f.Call(t.Context(), "far", "echo", json.RawMessage(`{"message":"other sessions"}`))
					if err != nil || textOf(t, raw) != "other sessions" {
						t.Errorf("the answer is %s, %v", raw, err)
					}
				})
			}
			calls.Wait()
			site.down()
			_ = sleep(t.Context(), 50*time.Millisecond) // else a call may be on its way into a connection that is just ending
			back := time.AfterFunc(300*time.Millisecond, site.up)
			defer back.Stop()
			if got := f.text("far", "echo", `{"message":"away"}`); got != "away" {
				t.Errorf("the answer is %q", got)
			}
		})
	}
}

// TestRemoteIdle has a connection end just before a call is given to it: the call is made on another.
func TestRemoteIdle(t *testing.T) {
	for text, sent := range map[string]bool{
		"http: server closed idle connection":                                           false,
		"net/http: HTTP/1.x transport connection broken: readLoopPeekFailLocked: reset": false,
		"unexpected EOF": true,
		`malformed HTTP response "readLoopPeekFailLocked: "`: true,
	} {
		t.Run(text, func(t *testing.T) {
			var calls atomic.Int64
			site := newSite(t, scripted(func(w http.ResponseWriter, id string) {
				calls.Add(1)
				answer(w, false, id, `{"content":[]}`)
			}))
			f := newPool(t, nil, site.at("/"))
			f.names("far")
			f.entry("far").update(func(st *serverState) {
				way := st.live.conn.(*remote).client.Transport.(*filter)
				way.next = &failsOnce{next: way.next, err: errors.New(text)}
			})
			_, err := f.Call(t.Context(), "far", "any", nil)
			if sent && (!isCrash(err) || calls.Load() != 0) || !sent && (err != nil || calls.Load() != 1) {
				t.Errorf("%v, after %d calls", err, calls.Load())
			}
		})
	}
	source, err := os.ReadFile(filepath.Join(build.Default.GOROOT, "src/net/http/transport.go"))
	if err != nil {
		t.Fatal(err) // its tests were compiled from it
	}
	for _, text := range []string{
		`errServerClosedIdle = errors.New("http: server closed idle connection")`,
		`pc.closeLocked(fmt.Errorf("readLoopPeekFailLocked: %w", peekErr))`,
		`fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", err)`,
	} {
		if !bytes.Contains(source, []byte(text)) {
			t.Errorf("net/http says no more %s", text)
		}
	}
}

// failsOnce has the first request fail.
type failsOnce struct {
	next   http.RoundTripper
	err    error
	failed atomic.Bool
}

func (f *failsOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.failed.CompareAndSwap(false, true) {
		return nil, f.err
	}
	return f.next.RoundTrip(r)
}

// TestRemoteUnknown ends the connection in the middle of a call: what became of it nobody knows, and it is not made
// again unless the server says that this does no harm.
func TestRemoteUnknown(t *testing.T) {
	for tool, times := range map[string]int64{"any": 1, "reads": 2} {
		var calls atomic.Int64
		site := newSite(t, scripted(func(http.ResponseWriter, string) {
			calls.Add(1)
			panic(http.ErrAbortHandler)
		}))
		f := newPool(t, nil, site.at("/"))
		_, err := f.Call(t.Context(), "far", tool, nil)
		var call *CallError
		if !errors.As(err, &call) || !call.Crashed || call.Code != 0 || calls.Load() != times ||
			!strings.Contains(err.Error(), "the connection to the server broke") {
			t.Errorf("%s: the error is %#v, %v, after %d calls", tool, err, err, calls.Load())
		}
	}
}
