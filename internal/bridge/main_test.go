package bridge

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"codemode/internal/bridge/bridgetest"
	"codemode/internal/config"
	"codemode/internal/sandbox"
)

func TestMain(m *testing.M) {
	bridgetest.ServeFake()
	if engine := os.Getenv(beSoaker); engine != "" {
		soakUntilKilled(engine)
	}
	os.Exit(m.Run())
}

// kit is a bridge with real sandboxes and real servers.
type kit struct {
	*Bridge
	t   testing.TB
	log *bridgetest.Log
}

// What these tests have in common with others.
var (
	fake       = bridgetest.Fake
	with       = bridgetest.With
	asks       = bridgetest.Asks
	crowd      = bridgetest.Crowd
	want       = bridgetest.Want
	contains   = bridgetest.Contains
	testConfig = bridgetest.Config
)

const patience = bridgetest.Patience

// patiently has a guest stop its code in time however busy the machine is.
func patiently(o *Options) { o.Config.Run.Grace = patience }

// newKit makes a bridge, which ends with the test and leaves nothing.
func newKit(t *testing.T, change func(*Options), servers ...config.Server) *kit {
	t.Helper()
	return newKitOn(t, bridgetest.Native(t), change, servers...)
}

// newKitOn is newKit with any runtime.
func newKitOn(t *testing.T, rt sandbox.Runtime, change func(*Options), servers ...config.Server) *kit {
	t.Helper()
	env := bridgetest.NewEnv(t, servers)
	opts := Options{
		Config: testConfig(), Servers: env.Configured, Runtime: rt, StateDir: env.Dir, Lookup: os.LookupEnv, Version: "test",
		Expand: env.Expand, Log: slog.New(LogHandler(env.Handler())),
	}
	if change != nil {
		change(&opts)
	}
	env.Begin()
	k := &kit{Bridge: New(opts), t: t, log: env.Log}
	env.End(k.Close)
	return k
}

func (k *kit) eventually(what string, is func() bool) {
	k.t.Helper()
	bridgetest.Eventually(k.t, what, is)
}

func (k *kit) waitForLog(text string) {
	k.t.Helper()
	bridgetest.WaitForLog(k.t, k.log, text)
}

// run runs code with the limits of tests.
func (k *kit) run(req Request) Outcome {
	k.t.Helper()
	if req.Timeout == 0 {
		req.Timeout = patience
	}
	return k.Run(k.t.Context(), req)
}

// soon is a timeout that code in a session has begun by, however busy the machine is: many times what it has just
// taken.
func (k *kit) soon(session string) time.Duration {
	k.t.Helper()
	began := time.Now()
	if out := k.run(Request{Session: session, Code: "None"}); out.Status != StatusSuccess {
		k.t.Fatalf("%s", out.compact())
	}
	return max(2*time.Second, 20*time.Since(began)).Round(100 * time.Millisecond)
}

// text runs code in the default session and returns the result as a model sees it.
func (k *kit) text(code string) string {
	k.t.Helper()
	return k.run(Request{Code: code}).compact()
}

// scriptedBridge is a bridge whose guests follow a script.
func scriptedBridge(t *testing.T, script func(*bridgetest.Guest)) (*Bridge, *bridgetest.Scripted) {
	rt := &bridgetest.Scripted{T: t, Script: script}
	b := New(
		Options{
			Config: testConfig(), Runtime: rt, StateDir: t.TempDir(),
			Lookup: func(string) (string, bool) { return "", false },
		},
	)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the bridge: %v", err)
		}
	})
	return b, rt
}
