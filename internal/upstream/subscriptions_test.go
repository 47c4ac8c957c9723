package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"codemode/internal/config"
	"codemode/internal/fakemcp"
)

// tellers are servers that tell of changes of their resources, each with the file that says who wanted to know.
func tellers(t *testing.T) (servers map[string]config.Server, file func(string) string) {
	dir := t.TempDir()
	file = func(name string) string {
		data, _ := os.ReadFile(filepath.Join(dir, name))
		return string(data)
	}
	args := func(name string) []string {
		return []string{"-resources", "-subscriptions", filepath.Join(dir, name)}
	}
	servers = map[string]config.Server{
		"stdio":  fake("far", args("stdio")...),
		"modern": fake("far", append(args("modern"), "-modern")...),
	}
	for _, path := range []string{"mcp", "stateless", "sse"} {
		servers[path] = newSite(t, fakemcp.Handler(args(path)...)).at("/" + path)
	}
	return servers, file
}

// TestSubscribe has servers of both revisions tell of a resource's changes, over each transport, until nobody is left who
// wants to know.
func TestSubscribe(t *testing.T) {
	servers, file := tellers(t)
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			f := newPool(t, nil, server)
			touch := func(uri string, times int) {
				t.Helper()
				args := fmt.Sprintf(`{"uri":%q,"times":%d}`, uri, times)
				if got := f.text("far", "touch", args); got != "done" {
					t.Errorf("touch: %s", got)
				}
			}
			first, err := f.Subscribe(t.Context(), "far", "fake://text")
			if err != nil {
				t.Fatal(err)
			}
			second, err := f.Subscribe(t.Context(), "far", "fake://text")
			if err != nil {
				t.Fatal(err)
			}
			touch("fake://text", 1)
			touch("fake://blob", 1)
			for _, sub := range []*Subscription{first, second} {
				updates, dropped, err := sub.Next(t.Context())
				if err != nil || dropped != 0 || len(updates) != 1 || !strings.Contains(string(updates[0]), `"fake://text"`) {
					t.Errorf("%q, %d dropped, %v", updates, dropped, err)
				}
			}
			first.Close()
			if _, _, err := first.Next(t.Context()); err == nil {
				t.Error("what was closed goes on")
			}
			if got := file(name); got != "begin fake://text\n" {
				t.Errorf("the server has seen %q", got)
			}
			second.Close()
			f.eventually("the server is told", func() bool { return strings.HasSuffix(file(name), "end fake://text\n") })
			third, err := f.Subscribe(t.Context(), "far", "fake://text")
			if err != nil {
				t.Fatal(err)
			}
			touch("fake://text", 1)
			if updates, _, err := third.Next(t.Context()); len(updates) != 1 {
				t.Errorf("%q, %v", updates, err)
			}
			if _, err := f.Subscribe(t.Context(), "far", "fake://private"); err == nil ||
				!strings.Contains(err.Error(), "nobody is told of fake://private") {
				t.Errorf("it may listen to what is private: %v", err)
			}
		})
	}
}

// TestSubscriptionEnds is about a server that ends, and one that tells nothing.
func TestSubscriptionEnds(t *testing.T) {
	servers, _ := tellers(t)
	f := newPool(t, nil, servers["stdio"], fake("mute", "-resources"))
	_, err := f.Subscribe(t.Context(), "mute", "fake://text")
	if err == nil || !strings.Contains(err.Error(), `server "mute" does not tell of changes of its resources: read them`) {
		t.Errorf("the error is %v", err)
	}
	sub, err := f.Subscribe(t.Context(), "far", "fake://text")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.Call(t.Context(), "far", "crash", nil)
	if _, _, err := sub.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "subscribe again") {
		t.Errorf("the error is %v", err)
	}
	if again, err := f.Subscribe(t.Context(), "far", "fake://text"); err != nil {
		t.Error(err)
	} else {
		again.Close()
	}
}

// cutter lets streams that tell of changes be cut off, while everything else goes on.
type cutter struct {
	next    http.Handler
	refuses atomic.Int32 // to listen again: 1 with an error, 2 by an empty stream
	cut     chan bool    // whether properly, for the next stream
}

func (c *cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if gjson.GetBytes(body, "method").String() != methodListen || !bytes.Contains(body, []byte("fake://")) {
		c.next.ServeHTTP(w, r)
		return
	}
	switch c.refuses.Load() {
	case 2:
		w.Header().Set("Content-Type", "text/event-stream")
		return
	case 1:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"not now"}}`, gjson.GetBytes(body, "id").Raw)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	over, properly := make(chan struct{}), true
	go func() {
		defer close(over)
		select {
		case properly = <-c.cut:
			cancel()
		case <-ctx.Done():
		}
	}()
	c.next.ServeHTTP(&quiet{w, ctx}, r.WithContext(ctx))
	cancel()
	if <-over; !properly {
		panic(http.ErrAbortHandler)
	}
}

// quiet says nothing any more once its context has ended.
type quiet struct {
	http.ResponseWriter
	ctx context.Context
}

func (q *quiet) Write(p []byte) (int, error) {
	if q.ctx.Err() != nil {
		return 0, q.ctx.Err()
	}
	return q.ResponseWriter.Write(p)
}

func (q *quiet) Unwrap() http.ResponseWriter { return q.ResponseWriter }

func (q *quiet) Flush() { _ = http.NewResponseController(q.ResponseWriter).Flush() }

// TestSubscriptionCutOff has the stream of a subscription of the newest revision break off, properly and not, while the
// connection goes on: the server is asked again, and who listens is told of a change, for there may have been one. A
// server that will not tell again ends the subscription.
func TestSubscriptionCutOff(t *testing.T) {
	t.Parallel()
	c := &cutter{next: fakemcp.Handler("-resources", "-subscriptions", filepath.Join(t.TempDir(), "log")), cut: make(chan bool)}
	f := newPool(t, nil, newSite(t, c).at("/stateless"))
	sub, err := f.Subscribe(t.Context(), "far", "fake://text")
	if err != nil {
		t.Fatal(err)
	}
	next := func() {
		t.Helper()
		updates, dropped, err := sub.Next(t.Context())
		if err != nil || dropped != 0 || len(updates) != 1 || gjson.GetBytes(updates[0], "uri").String() != "fake://text" {
			t.Fatalf("%q, %d dropped, %v", updates, dropped, err)
		}
	}
	for _, properly := range []bool{true, false} {
		c.cut <- properly
		next()
		if got := f.text("far", "touch", `{"uri":"fake://text","times":1}`); got != "done" {
			t.Errorf("touch: %s", got)
		}
		next()
	}
	for how, want := range map[int32]string{
		1: "the server has ended the subscription: not now",
		2: "the server has broken off telling of this resource's changes; asking it again failed: ",
	} {
		c.refuses.Store(how)
		c.cut <- true
		if _, _, err := sub.Next(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
		c.refuses.Store(0)
		if sub, err = f.Subscribe(t.Context(), "far", "fake://text"); err != nil {
			t.Fatal(err)
		}
	}
	sub.Close()
}

// TestUpdatesAreBounded is about code that does not read what it has subscribed to.
func TestUpdatesAreBounded(t *testing.T) {
	s := &Subscription{news: make(chan struct{}, 1)}
	for i := range 3 * maxUpdates {
		s.push(json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)))
	}
	s.push(json.RawMessage(strings.Repeat("x", maxUpdate+1)))
	updates, dropped, err := s.Next(t.Context())
	if err != nil || len(updates) != maxUpdates || dropped != 2*maxUpdates+1 || string(updates[0]) != `{"n":200}` {
		t.Errorf("%d updates from %s on, %d dropped, %v", len(updates), updates[0], dropped, err)
	}
}
