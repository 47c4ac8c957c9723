package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"codemode/internal/config"
	"codemode/internal/fakemcp"
)

// longServers are servers that answer with tasks; seen is what one was asked about them.
func longServers(t *testing.T) (servers map[string]config.Server, seen func(name string) string) {
	dir := t.TempDir()
	far := newSite(t, fakemcp.Handler("-asks", "-tasks", filepath.Join(dir, "Streamable HTTP"))).at("/stateless")
	near := fake("far", "-asks", "-modern", "-tasks", filepath.Join(dir, "stdio"))
	return map[string]config.Server{"stdio": near, "Streamable HTTP": far}, func(name string) string {
		data, _ := os.ReadFile(filepath.Join(dir, name)) // there may be none yet
		return string(data)
	}
}

// TestTask has calls be answered with tasks: what comes of them is the calls' result, and nothing else is.
func TestTask(t *testing.T) {
	t.Parallel()
	servers, seen := longServers(t)
	for name, server := range servers {
		u := &asker{}
		var mu sync.Mutex
		var told []string
		f := newPool(t, func(o *Options) {
			o.Answer, o.Offers = u.answer, can
			o.OnProgress = func(_ context.Context, _ string, p Progress) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, p.Message)
			}
		}, server)
		for how, want := range map[string]string{
			"done":    `{"content":[{"type":"text","text":"at last"}],"n":1.0}`,
			"fail":    "it broke",
			"cancel":  "the server has cancelled its task: too busy",
			"ask":     `"age\":36`,
			"lies":    "answered with another task than it was asked for",
			"no-id":   "answered with a task that has no ID",
			"odd":     `the server's task is "resting", which no task can be`,
			"empty":   "says that its task is done, and has no result of it",
			"gone":    "Task not found",
			"strange": `a result of the unknown type "strange"`,
		} {
			raw, err := f.Call(t.Context(), "far", "long", json.RawMessage(`{"how":"`+how+`"}`))
			if got := string(raw) + fmt.Sprint(err); !strings.Contains(got, want) || (err == nil) != (how == "done" || how == "ask") {
				t.Errorf("%s, %s: %s, %v", name, how, raw, err)
			}
			var call *CallError
			if answered := how == "fail" || how == "cancel"; errors.As(err, &call) && call.Unclear == answered {
				t.Errorf("%s, %s: it is unclear whether it was done: %t", name, how, call.Unclear)
			}
		}
		mu.Lock()
		if !slices.Contains(told, "step 1") || !slices.Contains(told, "step 2") {
			t.Errorf("%s: it told %q", name, told)
		}
		mu.Unlock()
		if n := strings.Count(seen(name), "tasks/update ask"); n != 1 || len(u.asked) != 1 {
			t.Errorf("%s: %d questions were answered %d times", name, len(u.asked), n)
		}
	}
}

// TestTaskLeft tells the server of a task that nobody waits for any more, which a deadline moves no further than progress.
func TestTaskLeft(t *testing.T) {
	servers, seen := longServers(t)
	for name, server := range servers {
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		f := newPool(t, func(o *Options) {
			o.OnProgress = func(context.Context, string, Progress) { cancel(enough) }
		}, server)
		if _, err := f.Call(ctx, "far", "long", json.RawMessage(`{"how":"forever"}`)); !errors.Is(err, enough) {
			t.Errorf("%s: %v", name, err)
		}
		f.eventually("the server is told", func() bool {
			return strings.HasSuffix(seen(name), "tasks/cancel forever\n")
		})
	}
}

// TestTaskLate leaves a call before the server has said which task it is answered with: it is told once that has come.
func TestTaskLate(t *testing.T) {
	servers, seen := longServers(t)
	server := servers["stdio"]
	f := newPool(t, nil, server)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := f.Call(ctx, "far", "long", json.RawMessage(`{"how":"late"}`))
		left <- err
	}()
	f.eventually("the server has the call", func() bool { return seen("stdio") == "tools/call late\n" })
	cancel(enough)
	if err := <-left; !errors.Is(err, enough) {
		t.Errorf("the error is %v", err)
	}
	f.eventually("the server is told", func() bool { return seen("stdio") == "tools/call late\ntasks/cancel late\n" })
}

// TestTaskLateByURL leaves a call before the server has said which task it is answered with: by URL, the end of its
// stream is what cancels it, and comes at once.
func TestTaskLateByURL(t *testing.T) {
	inner := fakemcp.Handler("-tasks", filepath.Join(t.TempDir(), "tasks"))
	began, gone := make(chan bool), make(chan bool)
	site := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if gjson.GetBytes(body, "method").String() == "tools/call" {
			close(began)
			<-r.Context().Done()
			close(gone)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	f := newPool(t, nil, site.at("/stateless"))
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-began
		cancel(enough)
	}()
	if _, err := f.Call(ctx, "far", "long", json.RawMessage(`{"how":"late"}`)); !errors.Is(err, enough) {
		t.Errorf("the error is %v", err)
	}
	<-gone
}

// TestTaskUnending ends a task that makes progress for ever.
func TestTaskUnending(t *testing.T) {
	t.Parallel()
	servers, _ := longServers(t)
	server := servers["stdio"]
	server.CallTime = 60 * time.Millisecond // twenty times that with progress
	f := newPool(t, nil, server)
	_, err := f.Call(t.Context(), "far", "long", json.RawMessage(`{"how":"forever"}`))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestTaskUndeclared has a server of before tasks not be told of them.
func TestTaskUndeclared(t *testing.T) {
	f := newPool(t, nil, fake("far", "-tasks", filepath.Join(t.TempDir(), "seen")))
	_, err := f.Call(t.Context(), "far", "long", json.RawMessage(`{"how":"done"}`))
	var call *CallError
	if !errors.As(err, &call) || call.Code != -32021 {
		t.Errorf("the error is %v", err)
	}
	_, err = f.Call(t.Context(), "far", "long", json.RawMessage(`{"how":"unasked"}`))
	if !errors.As(err, &call) || !strings.Contains(err.Error(), "answered with a task, which it was not asked for") {
		t.Errorf("of a task all the same, the error is %v", err)
	}
}

// TestFresh is for how long a list of tools is good by what its server says: of the newest revision, and more than 0.
func TestFresh(t *testing.T) {
	f := newPool(t, nil, fake("says", "-modern", "-ttl", "90s"), fake("zero", "-modern"), fake("older", "-ttl", "90s"))
	for name, want := range map[string]time.Duration{"says": 90 * time.Second, "zero": 0, "older": 0, "nobody": 0} {
		if before := f.Fresh(name); before != 0 {
			t.Errorf("%s, before it runs: %v", name, before)
		}
		_, _ = f.Tools(t.Context(), name)
		if got := f.Fresh(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
