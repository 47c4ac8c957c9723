package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"codemode/internal/config"
	"codemode/internal/proc/proctest"
	"codemode/internal/require"
)

// farProcess is a server by URL in a process of its own, which writes down the calls that it executes. It can be killed
// and started again at its address.
type farProcess struct {
	address, notes string // files
	env            []string
	cmd            *exec.Cmd
}

func newFarProcess(t *testing.T, f *fixture) *farProcess {
	t.Helper()
	dir := t.TempDir()
	p := &farProcess{address: filepath.Join(dir, "address"), notes: filepath.Join(dir, "notes")}
	p.env = append(os.Environ(), proctest.Variable+"="+f.mark, "GORACE=atexit_sleep_ms=0")
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	f.eventually("the server has an address", func() bool { _, err := os.Stat(p.address); return err == nil })
	return p
}

func (p *farProcess) start() error {
	p.cmd = exec.Command(fakePath, "-http", p.address, "-notes", p.notes, "-note-pause", "5ms")
	p.cmd.Env = p.env
	return p.cmd.Start()
}

func (p *farProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// read returns what a file of the process says.
func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRemoteRestart kills a server in the middle of many calls, 50 at a time, and starts it again: none is executed
// twice, those that were under way are told to be unknown, and all others bring their answers.
func TestRemoteRestart(t *testing.T) {
	http, sse := 300, 300
	if require.Named("soak") {
		http, sse = 2000, 400
	}
	t.Run("http", func(t *testing.T) { restartBetween(t, config.HTTP, "/mcp", http) })
	t.Run("sse", func(t *testing.T) { restartBetween(t, config.SSE, "/sse", sse) })
}

func restartBetween(t *testing.T, transport, path string, calls int) {
	const callers = 50
	f := newPool(t, nil)
	far := newFarProcess(t, f)
	f.Update([]config.Server{{Name: "far", URL: read(t, far.address) + path, Transport: transport}})

	var next, answers atomic.Int64
	var back atomic.Bool
	failed := make([]error, calls)
	one := func(n int) {
		wasBack := back.Load()
		raw, err := f.Call(t.Context(), "far", "add_note", json.RawMessage(fmt.Sprintf(`{"message":"%d"}`, n)))
		if failed[n] = err; err != nil {
			if wasBack {
				t.Errorf("call %d, begun when the server was back: %v", n, err)
			}
			return
		}
		if got, want := textOf(t, raw), fmt.Sprintf("add_note: %d", n); got != want {
			t.Errorf("the answer is %q, want %q", got, want)
		}
		switch got := int(answers.Add(1)); {
		case got == calls/3:
			far.kill()
			if err := far.start(); err != nil {
				t.Error(err)
			}
		case got > calls/3+callers: // more than can have been answered before and not been counted
			back.Store(true)
		}
	}
	var work sync.WaitGroup
	for range callers {
		work.Go(func() {
			for n := int(next.Add(1)) - 1; n < calls; n = int(next.Add(1)) - 1 {
				one(n)
			}
		})
	}
	work.Wait()

	executed := map[string]int{}
	for line := range strings.Lines(read(t, far.notes)) {
		executed[strings.TrimSuffix(strings.TrimPrefix(line, "add_note "), "\n")]++
	}
	unknown, done := 0, 0
	for n, err := range failed {
		times := executed[fmt.Sprint(n)]
		var call *CallError
		switch {
		case err == nil && times != 1, times > 1:
			t.Errorf("call %d was executed %d times: %v", n, times, err)
		case err == nil:
		case !errors.As(err, &call) || !call.Crashed:
			t.Errorf("call %d is lost: %v", n, err)
		default:
			unknown++
			done += times
		}
	}
	if !back.Load() || unknown > 2*callers { // one each under way, one each into a connection that has just ended
		t.Errorf("the server is back: %v; of %d calls nobody knows what became", back.Load(), unknown)
	}
	t.Logf("%d answers, %d calls unknown, of which %d were executed", answers.Load(), unknown, done)
}

// TestRestartingServerIsBegunWithOnceMore has a server that was there break off the first thing that it is asked for anew,
// as one does that is just ending to start again.
func TestRestartingServerIsBegunWithOnceMore(t *testing.T) {
	f := newPool(t, nil)
	far, err := url.Parse(read(t, newFarProcess(t, f).address))
	if err != nil {
		t.Fatal(err)
	}
	var breaks atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(far)
	proxy.FlushInterval = -1 // a stream's events come one by one
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if breaks.Add(-1) >= 0 {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
	f.Update([]config.Server{{Name: "far", URL: front.URL + "/sse", Transport: config.SSE}})
	call := func() error {
		_, err := f.Call(t.Context(), "far", "echo", json.RawMessage(`{"message":"x"}`))
		return err
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	front.CloseClientConnections()
	f.eventually("its end is seen", func() bool { return strings.Contains(f.log.String(), "server ended") })
	breaks.Store(1)
	if err := call(); err != nil {
		t.Errorf("it was begun with once, and broke off: %v", err)
	}
	if breaks.Load() >= 0 {
		t.Error("nothing was broken off")
	}
}
