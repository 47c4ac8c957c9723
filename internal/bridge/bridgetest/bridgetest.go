// Package bridgetest is what tests of runs have in common: real servers that misbehave on demand, a real runtime, and
// proof that nothing is left.
//
// It owns the surroundings of a test ([Env]) and knows neither bridges nor clients, so that tests inside of bridge can
// use it. What it starts ends with the test.
package bridgetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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
	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"
	"codemode/internal/sandbox/sandboxtest"
	"codemode/internal/servers"
)

// beFake is the environment variable that makes the test binary the fake server.
const beFake = "CODEMODE_TEST_FAKE"

// ServeFake is the first thing of a TestMain: it does not return in a process that is a fake server.
func ServeFake() {
	if os.Getenv(beFake) != "" {
		os.Exit(fakemcp.Main(os.Args[1:]))
	}
}

// Host is the real runtime, shared by all tests.
var Host = sync.OnceValue(func() sandbox.Runtime {
	cache := filepath.Join(sandboxtest.CacheHome(), "codemode")
	return sandbox.NewNative(sandbox.NativeOptions{CacheDir: cache, Python: python.Source{CacheDir: cache}})
})

// Native is Host, or skips the test where it does not work.
func Native(t *testing.T) sandbox.Runtime {
	t.Helper()
	rt := Host()
	if _, err := rt.Probe(t.Context()); err != nil {
		var unavailable *sandbox.UnavailableError
		if !errors.As(err, &unavailable) {
			t.Fatal(err)
		}
		require.Lacking(t, "native", "%s: %v", unavailable.Code, err)
	}
	return rt
}

// Env is what a test's bridge is made in.
type Env struct {
	Dir     string // of its state; what anybody leaves there shows
	Servers []config.Server
	Log     *Log

	t          *testing.T
	goroutines int
	before     sandboxtest.Leftovers
}

// NewEnv returns surroundings in which servers are marked, so that none of them is overlooked.
func NewEnv(t *testing.T, servers []config.Server) *Env {
	t.Helper()
	mark := proctest.Mark(t)
	for i := range servers {
		servers[i] = With(servers[i], proctest.Variable, mark)
	}
	e := &Env{Dir: t.TempDir(), Servers: servers, Log: &Log{}, t: t}
	t.Setenv("TMPDIR", e.Dir)
	return e
}

// Handler writes the log, with all details.
func (e *Env) Handler() slog.Handler {
	return slog.NewTextHandler(e.Log, &slog.HandlerOptions{Level: slog.LevelDebug})
}

// Configured is bridge.Options.Servers.
func (e *Env) Configured() *servers.Set { return servers.NewSet(e.Servers, nil) }

// Expand is bridge.Options.Expand.
func (e *Env) Expand(s config.Server, resolved func(variable, value string)) (config.Server, error) {
	return clientcfg.Expand(s, clientcfg.Resolver{OS: runtime.GOOS, Lookup: os.LookupEnv, Resolved: resolved})
}

// Begin is called before the bridge is made.
func (e *Env) Begin() {
	e.t.Helper()
	e.goroutines = runtime.NumGoroutine()
	e.before = sandboxtest.TakeLeftovers(e.t)
}

// End has the test, when it is over, close the bridge and prove that nothing of it is left: no process, no descriptor,
// no mount, no file, no goroutine.
func (e *Env) End(closeBridge func() error) {
	e.t.Cleanup(func() {
		if err := closeBridge(); err != nil {
			e.t.Errorf("closing the bridge: %v", err)
		}
		e.before.Check(e.t)
		if left, _ := os.ReadDir(e.Dir); len(left) > 0 {
			e.t.Errorf("left on disk: %v", left)
		}
		// A goroutine that has told the one that waits for it still has to return.
		Eventually(e.t, "goroutines are as before", func() bool { return runtime.NumGoroutine() <= e.goroutines })
		if e.t.Failed() {
			e.t.Log(e.Log.tail())
		}
	})
}

// Fake is a server that runs fakemcp.
func Fake(name string, args ...string) config.Server {
	self, err := os.Executable()
	if err != nil {
		panic(err) // of a test binary
	}
	return config.Server{Name: name, Command: self, Args: args, Env: map[string]string{
		beFake:   "1",
		"GORACE": "atexit_sleep_ms=0", // under the race detector it would otherwise take a second to exit
	}}
}

// Crowd is many servers.
func Crowd(n int, args ...string) []config.Server {
	var servers []config.Server
	for i := range n {
		servers = append(servers, Fake(fmt.Sprintf("server-%d", i), args...))
	}
	return servers
}

// IsFake reports whether a server is one that Fake has made.
func IsFake(s config.Server) bool { return s.Env[beFake] != "" }

// With adds a variable to a server's environment.
func With(s config.Server, name, value string) config.Server {
	s.Env = maps.Clone(s.Env)
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	s.Env[name] = value
	return s
}

// Asks is code that has the fake server ask its client, and prints what it was answered.
func Asks(what, message string) string {
	quote := func(text string) string { b, _ := json.Marshal(text); return string(b) }
	return "import json, mcp\ntry: print(json.dumps(await mcp_fake.ask(what=" + quote(what) + ", message=" +
		quote(message) + "), separators=(',', ':')))\nexcept mcp.MCPError as e: print('MCPError', e)"
}

// Patience is how long Eventually waits: for ever, as tests go, but on a busy machine with the race detector.
const Patience = 2 * time.Minute

// Eventually waits for something that another process or goroutine brings about, and nobody reports.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(Patience)
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			stacks := make([]byte, 1<<20)
			t.Fatalf("%s: not within %v\n%s", what, Patience, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// WaitForLog waits for a text in a log.
func WaitForLog(t testing.TB, log *Log, text string) {
	t.Helper()
	Eventually(t, "the log says "+text, func() bool { return strings.Contains(log.String(), text) })
}

// Want compares what a model sees of a result.
func Want(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Contains looks for each text in a result.
func Contains(t testing.TB, got string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("%q is not in:\n%s", text, got)
		}
	}
}

// Config are the settings of tests.
func Config() config.Config {
	return config.Config{
		Sandbox: config.Sandbox{
			Memory: 512 << 20, Pids: 128, TmpSize: 64 << 20, WorkSize: 128 << 20, Isolation: "full",
			IdleTimeout: time.Minute,
		},
		Run:          config.Run{Timeout: Patience, MaxTimeout: 5 * time.Minute, Grace: 300 * time.Millisecond},
		Output:       config.Output{Mode: "compact", Limit: 32 << 10, Keep: 64 << 20},
		Policy:       config.Policy{ConfirmTimeout: Patience},
		Servers:      config.Servers{StartTimeout: Patience, CallTimeout: Patience},
		Instructions: config.Instructions{Servers: true},
	}
}

// Log is a log that can be read while it is written.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// tail is what a failed test shows.
func (l *Log) tail() string {
	s := l.String()
	return s[max(0, len(s)-8<<10):]
}
