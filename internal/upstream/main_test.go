package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/fakemcp"
	"codemode/internal/proc/proctest"
)

// fakeName is the name under which the test binary is the fake server.
const fakeName = "fakemcp"

// hostVariable makes the test binary a program with stubborn servers that waits to be killed.
const hostVariable = "CODEMODE_TEST_HOST"

func beHost(mark string) {
	s := config.Server{
		Name: "stubborn", Command: os.Args[1], Env: marked(mark),
		Args: []string{"-spawn-child", "-ignore-eof", "-ignore-term"},
	}
	_, err := NewPool(Options{Servers: []config.Server{s}}).Tools(context.Background(), s.Name)
	fmt.Println("ready", err)
	select {}
}

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == fakeName {
		os.Exit(fakemcp.Main(os.Args[1:]))
	}
	if mark := os.Getenv(hostVariable); mark != "" {
		beHost(mark)
	}
	os.Exit(run(m))
}

// fakePath is a link to the test binary.
var fakePath string

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "upstream")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err == nil {
		fakePath = filepath.Join(dir, fakeName)
		err = os.Symlink(self, fakePath)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// fixture is a pool with what it logs and reports.
type fixture struct {
	*Pool
	t       testing.TB
	mark    string
	log     *safeBuffer
	changed chan string
}

// safeBuffer is a log that can be read while it is written.
type safeBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// fake is a server that runs fakemcp.
func fake(name string, args ...string) config.Server {
	return config.Server{Name: name, Command: fakePath, Args: args}
}

// marked is the environment of a server in a test. Under the race detector it would otherwise take a second
// to exit.
func marked(mark string) map[string]string {
	return map[string]string{proctest.Variable: mark, "GORACE": "atexit_sleep_ms=0"}
}

// expandWith replaces references as commands has them replaced.
func expandWith(lookup func(string) (string, bool)) func(config.Server, func(string, string)) (config.Server, error) {
	return func(s config.Server, resolved func(string, string)) (config.Server, error) {
		return clientcfg.Expand(s, clientcfg.Resolver{OS: runtime.GOOS, Lookup: lookup, Resolved: resolved})
	}
}

// newPool makes a pool of servers which are marked, and proves at the end that they are gone.
func newPool(t testing.TB, change func(*Options), servers ...config.Server) *fixture {
	t.Helper()
	return newMarkedPool(t, proctest.Mark(t), change, servers...)
}

// newMarkedPool is newPool where somebody else looks for what is left by the mark.
func newMarkedPool(t testing.TB, mark string, change func(*Options), servers ...config.Server) *fixture {
	t.Helper()
	f := &fixture{t: t, mark: mark, log: &safeBuffer{}, changed: make(chan string, 100)}
	for i := range servers {
		env := marked(f.mark)
		for k, v := range servers[i].Env {
			env[k] = v
		}
		servers[i].Env = env
	}
	opts := Options{
		Servers:        servers,
		Lookup:         os.LookupEnv,
		Expand:         expandWith(os.LookupEnv),
		StartTimeout:   20 * time.Second,
		CallTimeout:    20 * time.Second,
		Version:        "test",
		Log:            slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		OnToolsChanged: func(server string) { f.changed <- server },
	}
	if change != nil {
		change(&opts)
	}
	f.Pool = NewPool(opts)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error("closing the pool:", err)
		}
		if t.Failed() {
			t.Log(f.log.String())
		}
	})
	return f
}

func (f *fixture) ctx() context.Context { return f.t.Context() }

// text calls a tool and returns the text of its answer.
func (f *fixture) text(server, tool, args string) string {
	f.t.Helper()
	raw, err := f.Call(f.ctx(), server, tool, json.RawMessage(args))
	if err != nil {
		f.t.Fatalf("calling %s.%s: %v", server, tool, err)
	}
	return textOf(f.t, raw)
}

func textOf(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var result struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatalf("result %.200s: %v", raw, err)
	}
	if len(result.Content) != 1 {
		t.Fatalf("result has %d blocks, want 1: %.200s", len(result.Content), raw)
	}
	return result.Content[0].Text
}

// names are the names of a server's tools.
func (f *fixture) names(server string) []string {
	f.t.Helper()
	tools, err := f.Tools(f.ctx(), server)
	if err != nil {
		f.t.Fatalf("listing tools of %s: %v", server, err)
	}
	names := make([]string, 0, len(tools))
	for _, raw := range tools {
		var tool struct{ Name string }
		if err := json.Unmarshal(raw, &tool); err != nil {
			f.t.Fatalf("tool %s: %v", raw, err)
		}
		names = append(names, tool.Name)
	}
	return names
}

// eventually waits for something another process or goroutine brings about, and nobody reports.
func (f *fixture) eventually(what string, is func() bool) {
	f.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(2 * time.Minute) // for ever, as tests go, but on a busy machine
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			f.t.Fatalf("%s: not within two minutes", what)
		}
	}
}

func (f *fixture) waitForLog(text string) {
	f.t.Helper()
	f.eventually("log says "+text, func() bool { return strings.Contains(f.log.String(), text) })
}

// waitForCalls waits until a server has n calls under way.
func (f *fixture) waitForCalls(server string, n int) {
	f.t.Helper()
	f.eventually("calls under way", func() (ok bool) {
		var live *session
		f.entry(server).update(func(st *serverState) { live = st.live })
		if live != nil {
			live.calls.update(func(st *callsState) { ok = len(st.requests) == n })
		}
		return ok
	})
}

func (f *fixture) waitForStart(server string) {
	f.t.Helper()
	f.eventually("a start under way", func() (ok bool) {
		f.entry(server).update(func(st *serverState) { ok = st.starting != nil })
		return ok
	})
}

// entry is what the pool has of a server.
func (f *fixture) entry(name string) *server {
	f.t.Helper()
	s, err := f.server(name)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}
