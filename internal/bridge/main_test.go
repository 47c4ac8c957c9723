package bridge

import (
	"errors"
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
)

// beFake is the environment variable that makes the test binary the fake server.
const beFake = "CODEMODE_TEST_FAKE"

func TestMain(m *testing.M) {
	if os.Getenv(beFake) != "" {
		os.Exit(fakemcp.Main(os.Args[1:]))
	}
	if engine := os.Getenv(beSoaker); engine != "" {
		soakUntilKilled(engine)
	}
	os.Exit(m.Run())
}

// native is the real runtime, shared by all tests.
var native = sync.OnceValue(func() sandbox.Runtime {
	cache := filepath.Join(sandboxtest.CacheHome(), "codemode")
	return sandbox.NewNative(sandbox.NativeOptions{CacheDir: cache, Python: python.Source{CacheDir: cache}})
})

// kit is a bridge with real sandboxes and real servers.
type kit struct {
	*Bridge
	t   testing.TB
	log *safeLog
}

// newKit makes a bridge and proves, when the test has closed it, that nothing of it is left: no process, no
// descriptor, no mount, no file, no goroutine.
func newKit(t *testing.T, change func(*Options), servers ...config.Server) *kit {
	t.Helper()
	rt := native()
	if _, err := rt.Probe(t.Context()); err != nil {
		var unavailable *sandbox.UnavailableError
		if !errors.As(err, &unavailable) {
			t.Fatal(err)
		}
		require.Lacking(t, "native", "%s: %v", unavailable.Code, err)
	}
	return newKitOn(t, rt, change, servers...)
}

// newKitOn is newKit with any runtime.
func newKitOn(t *testing.T, rt sandbox.Runtime, change func(*Options), servers ...config.Server) *kit {
	t.Helper()
	mark := proctest.Mark(t)
	for i := range servers {
		servers[i] = with(servers[i], proctest.Variable, mark)
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir) // what anybody leaves there shows
	k := &kit{t: t, log: &safeLog{}}
	opts := Options{
		Config: testConfig(), Servers: servers, Runtime: rt, StateDir: dir, Lookup: os.LookupEnv, Version: "test",
		Expand: func(s config.Server, resolved func(variable, value string)) (config.Server, error) {
			return clientcfg.Expand(s, clientcfg.Resolver{OS: runtime.GOOS, Lookup: os.LookupEnv, Resolved: resolved})
		},
		Log: slog.New(LogHandler(slog.NewTextHandler(k.log, &slog.HandlerOptions{Level: slog.LevelDebug}))),
	}
	if change != nil {
		change(&opts)
	}
	goroutines := runtime.NumGoroutine()
	before := sandboxtest.TakeLeftovers(t)
	k.Bridge = New(opts)
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Errorf("closing the bridge: %v", err)
		}
		before.Check(t)
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left on disk: %v", left)
		}
		// A goroutine that has told the one that waits for it still has to return.
		k.eventually("goroutines are as before", func() bool { return runtime.NumGoroutine() <= goroutines })
		if t.Failed() {
			t.Log(k.log.tail())
		}
	})
	return k
}

// fake is a server that runs fakemcp.
func fake(name string, args ...string) config.Server {
	self, err := os.Executable()
	if err != nil {
		panic(err) // of a test binary
	}
	return config.Server{Name: name, Command: self, Args: args, Env: map[string]string{
		beFake:   "1",
		"GORACE": "atexit_sleep_ms=0", // under the race detector it would otherwise take a second to exit
	}}
}

// with adds a variable to a server's environment.
func with(s config.Server, name, value string) config.Server {
	s.Env = maps.Clone(s.Env)
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	s.Env[name] = value
	return s
}

// patience is how long eventually waits: for ever, as tests go, but on a busy machine with the race detector.
const patience = 2 * time.Minute

// eventually waits for something that another process or goroutine brings about, and nobody reports.
func (k *kit) eventually(what string, is func() bool) {
	k.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			stacks := make([]byte, 1<<20)
			k.t.Fatalf("%s: not within %v\n%s", what, patience, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func (k *kit) waitForLog(text string) {
	k.t.Helper()
	k.eventually("the log says "+text, func() bool { return strings.Contains(k.log.String(), text) })
}

// run runs code with the limits of tests.
func (k *kit) run(req Request) Outcome {
	k.t.Helper()
	if req.Timeout == 0 {
		req.Timeout = patience
	}
	return k.Run(k.t.Context(), req)
}

// text runs code in the default session and returns the result as a model sees it.
func (k *kit) text(code string) string {
	k.t.Helper()
	return k.run(Request{Code: code}).compact()
}

// want compares what a model sees of a result.
func want(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// contains looks for each text in a result.
func contains(t testing.TB, got string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("%q is not in:\n%s", text, got)
		}
	}
}

// safeLog is a log that can be read while it is written.
type safeLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// tail is what a failed test shows.
func (l *safeLog) tail() string {
	s := l.String()
	return s[max(0, len(s)-8<<10):]
}
