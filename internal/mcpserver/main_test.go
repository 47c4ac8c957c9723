package mcpserver

import (
	"log/slog"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/bridge"
	"codemode/internal/bridge/bridgetest"
	"codemode/internal/config"
	"codemode/internal/sandbox"
)

func TestMain(m *testing.M) {
	bridgetest.ServeFake()
	os.Exit(m.Run())
}

// What these tests have in common with those of runs.
var (
	native   = bridgetest.Host
	fake     = bridgetest.Fake
	asks     = bridgetest.Asks
	crowd    = bridgetest.Crowd
	want     = bridgetest.Want
	contains = bridgetest.Contains
)

const patience = bridgetest.Patience

// kit is a server over a bridge with real sandboxes and real servers.
type kit struct {
	server *Server
	t      testing.TB
	log    *bridgetest.Log
	client *mcp.Client // that connected last
}

// newKit makes a server, whose bridge ends with the test and leaves nothing.
func newKit(t *testing.T, change func(*bridge.Options), servers ...config.Server) *kit {
	t.Helper()
	return newKitOn(t, bridgetest.Native(t), change, servers...)
}

// newKitOn is newKit with any runtime.
func newKitOn(
	t *testing.T, rt sandbox.Runtime, change func(*bridge.Options), servers ...config.Server,
) *kit {
	t.Helper()
	env := bridgetest.NewEnv(t, servers)
	log := slog.New(bridge.LogHandler(env.Handler()))
	opts := bridge.Options{
		Config: bridgetest.Config(), Servers: env.Configured, Runtime: rt, StateDir: env.Dir, Lookup: os.LookupEnv,
		Version: "test", Expand: env.Expand, Log: log,
	}
	if change != nil {
		change(&opts)
	}
	env.Begin()
	b := bridge.New(opts)
	env.End(b.Close)
	own := Options{Config: opts.Config, Version: "test", Log: log, Artifacts: opts.Artifacts != nil}
	return &kit{server: New(b, own), t: t, log: env.Log}
}

func (k *kit) eventually(what string, is func() bool) {
	k.t.Helper()
	bridgetest.Eventually(k.t, what, is)
}

func (k *kit) waitForLog(text string) {
	k.t.Helper()
	bridgetest.WaitForLog(k.t, k.log, text)
}

// scriptedServer is a server whose guests follow a script.
func scriptedServer(t *testing.T, script func(*bridgetest.Guest)) *Server {
	b := bridge.New(bridge.Options{
		Config: bridgetest.Config(), Runtime: &bridgetest.Scripted{T: t, Script: script}, StateDir: t.TempDir(),
		Lookup: func(string) (string, bool) { return "", false },
	})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the bridge: %v", err)
		}
	})
	return New(b, Options{Config: bridgetest.Config(), Log: slog.New(slog.DiscardHandler)})
}
