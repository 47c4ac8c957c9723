package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"codemode/internal/hint"

	"codemode/internal/policy"
)

func env(pairs ...string) func(string) (string, bool) {
	m := map[string]string{}
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		m[name] = value
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDefaultsAreTheContract(t *testing.T) {
	c, err := Load(Source{Lookup: env("HOME=/home/a")})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Tenant: "default", Tenants: []string{"default"},
		Sandbox: Sandbox{
			Runtime: "auto", Order: []string{"native", "podman", "docker"}, Isolation: "full", AllowGaps: []string{},
			Memory: 512 << 20, Pids: 128, TmpSize: 64 << 20, WorkSize: 128 << 20,
			Image: "python:3.14-slim", Pull: "never", User: "65534:65534", Podman: Podman{Machine: "off"},
			Pool: 1, IdleTimeout: 5 * time.Minute,
			Kubernetes: Kubernetes{NodeSelector: []string{}, Requests: []string{}},
		},
		Run:          Run{Timeout: 30 * time.Second, MaxTimeout: 2 * time.Minute, Grace: 2 * time.Second},
		Output:       Output{Mode: "compact", Limit: 32 << 10, Keep: 256 << 20},
		Instructions: Instructions{Servers: true},
		Expose:       []string{},
		Servers: Servers{
			Dir: "/home/a/MCPs", Include: []string{}, Exclude: []string{}, Sandbox: []string{},
			Own: map[string]Server{}, StartTimeout: time.Minute, CallTimeout: 5 * time.Minute,
		},
		Policy: Policy{
			Rules: policy.Rules{
				Allow: []string{}, Deny: []string{}, Confirm: []string{}, Approved: []string{}, Questions: 10,
				MaxArguments: 64 << 20, MaxResult: 64 << 20,
			},
			Places:         map[string]string{},
			ConfirmTimeout: 5 * time.Minute,
		},
		Secrets:   Secrets{Store: "auto"},
		Audit:     Audit{MaxSize: 16 << 20, Keep: 8, Arguments: "hashed"},
		Disk:      Disk{MaxSize: 1 << 30},
		Discovery: Discovery{Sources: []string{"all"}},
		Catalog:   Catalog{MaxAge: 24 * time.Hour},
		Tools:     Tools{Save: true},
		REPL:      REPL{History: true},
		Log:       Log{Level: "info", Format: "text"},
		Packages:  Packages{Index: "https://pypi.org/simple", Cooldown: 7 * 24 * time.Hour},
		Registry:  Registry{Address: "https://registry.modelcontextprotocol.io"},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("defaults\n got %+v\nwant %+v", c, want)
	}
}

func TestNoHomeIsNoFolder(t *testing.T) {
	if c, err := Load(Source{Dir: "/cwd", Lookup: env("HOME=rel")}); err != nil || c.Servers.Dir != "" {
		t.Errorf("got %q, %v", c.Servers.Dir, err)
	}
}

func TestLayersWinInOrder(t *testing.T) {
	file := writeFile(t, "[run]\ntimeout = 11\nmax_timeout = '90s'\n[sandbox]\npids = 11\nmemory = '21m'\n")
	c, err := Load(Source{
		File:   file,
		Lookup: env("CODEMODE_SANDBOX_PIDS=12", "MCP_BRIDGE_PIDS=99", "MCP_BRIDGE_MEMORY=22m"),
		Flags:  map[string]any{"sandbox.memory": "23m"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]any{
		"default":                   {c.Run.Grace, 2 * time.Second},
		"file over default":         {c.Run.Timeout, 11 * time.Second},
		"CODEMODE_ over MCP_BRIDGE": {c.Sandbox.Pids, 12},
		"flag over environment":     {c.Sandbox.Memory, int64(23 << 20)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %v, want %v", what, pair[0], pair[1])
		}
	}
}

// TestEveryOldNameWorks holds the environment table of the Python original.
func TestEveryOldNameWorks(t *testing.T) {
	c, err := Load(Source{Dir: "/cwd", Lookup: env("HOME=/home/a",
		"MCP_BRIDGE_RUNTIME=podman", "MCP_BRIDGE_IMAGE=x:1", "MCP_BRIDGE_TIMEOUT=45", "MCP_BRIDGE_MAX_TIMEOUT=3m",
		"MCP_BRIDGE_MEMORY=1GiB", "MCP_BRIDGE_PIDS=9", "MCP_BRIDGE_CPUS=1.5", "MCP_BRIDGE_CONTAINER_USER=1:2",
		"MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT=1m", "MCP_BRIDGE_STATE_DIR=~/state", "MCP_BRIDGE_OUTPUT_MODE=TOON",
		"MCP_BRIDGE_LOG_LEVEL=WARNING", "MCP_BRIDGE_ALLOW_SELF_SERVER=yes", "MCP_SERVERS_CONFIG=servers.json")})
	if err != nil {
		t.Fatal(err)
	}
	got := []any{
		c.Sandbox.Runtime, c.Sandbox.Image, c.Run.Timeout, c.Run.MaxTimeout,
		c.Sandbox.Memory, c.Sandbox.Pids, c.Sandbox.CPUs, c.Sandbox.User,
		c.Sandbox.IdleTimeout, c.Servers.Dir, c.Output.Mode, c.Log.Level, c.Servers.AllowSelf, c.Servers.Files,
	}
	want := []any{
		"podman", "x:1", 45 * time.Second, 3 * time.Minute,
		int64(1 << 30), 9, 1.5, "1:2",
		time.Minute, "/home/a/state", "toon", "warn", true,
		[]string{"/cwd/servers.json"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestForms(t *testing.T) {
	for _, tt := range []struct {
		kind kind
		text string
		want any // nil: refused
	}{
		{duration, "30", 30 * time.Second},
		{duration, "30s", 30 * time.Second},
		{duration, "2M", 2 * time.Minute},
		{duration, "1.5", 1500 * time.Millisecond},
		{duration, "0", time.Duration(0)},
		{duration, "abc", nil},
		{duration, "-1", nil},
		{duration, "NaN", nil},
		{duration, "1e300", nil},
		{deadline, "0", nil},
		{size, "1048576", int64(1 << 20)},
		{size, "512m", int64(512 << 20)},
		{size, "1GiB", int64(1 << 30)},
		{size, "1.5g", int64(3 << 29)},
		{size, "64 MB", int64(64 << 20)},
		{size, "0", nil},
		{size, "-1", nil},
		{size, "1e9", nil},
		{size, "99999999999t", nil},
		{size, "m", nil},
		{boolean, "1", true},
		{boolean, "TRUE", true},
		{boolean, "yes", true},
		{boolean, "On", true},
		{boolean, "off", false},
		{boolean, "maybe", nil},
		{sizeFrom("16m"), "16m", int64(16 << 20)},
		{sizeFrom("16m"), "16777215", nil},
		{countFrom(8), "8", 8},
		{countFrom(8), "7", nil},
		{countFrom(1), "1.5", nil},
		{number, "inf", nil},
		{number, "-1", nil},
		{logLevel, "DEBUG", "debug"},
		{logLevel, "CRITICAL", "error"},
		{logLevel, "loud", nil},
		{runtimeName, "Podman", "podman"},
		{runtimeName, "./bin/podman", "/cwd/bin/podman"},
		{runtimeName, "lxc", nil},
		{tenantName, "work-2_b", "work-2_b"},
		{tenantName, "nul", nil},
		{program, "python3", "python3"},
		{program, "~/venv", "/home/a/venv"},
		{anyPath, "~other/x", "/cwd/~other/x"},
		{userGroup, "root", nil},
	} {
		got, ok := tt.kind.value(tt.text, place{dir: "/cwd", home: "/home/a"})
		if ok != (tt.want != nil) || ok && got != tt.want {
			t.Errorf("%s as %q: got %v, %v, want %v", tt.text, tt.kind.forms, got, ok, tt.want)
		}
	}
}

// TestWrongTypes is about what only a file can hold. Text is always right: variables have nothing else.
func TestWrongTypes(t *testing.T) {
	for _, tt := range []struct {
		kind kind
		raw  any
		ok   bool
	}{
		{text, "3", true},
		{text, int64(3), false},
		{text, true, false},
		{anyPath, map[string]any{"x": 1}, false},
		{oneOf("a", "b"), []any{"a"}, false},
		{duration, int64(3), true},
		{duration, 1.5, true},
		{duration, true, false},
		{size, int64(3), true},
		{size, 1.5, false},
		{countFrom(1), int64(3), true},
		{countFrom(1), 3.0, false},
		{number, int64(3), true},
		{number, 0.5, true},
		{number, false, false},
		{boolean, true, true},
		{boolean, 1.0, false},
		{files, []any{"a", "b"}, true},
		{files, int64(3), false},
		{files, []any{int64(3)}, false},
		{files, []any{[]any{"a"}}, false},
		{words, map[string]any{}, false},
		{duration, time.Time{}, false},
		{text, nil, false},
	} {
		if v, ok := tt.kind.value(tt.raw, place{}); ok != tt.ok {
			t.Errorf("%T %v as %q: %v, %v, want %v", tt.raw, tt.raw, tt.kind.forms, v, ok, tt.ok)
		}
	}
}

// TestBadValuesNameThemselves is about what the user reads: the variable, the value, the accepted forms.
func TestBadValuesNameThemselves(t *testing.T) {
	_, err := Load(Source{
		Lookup: env("MCP_BRIDGE_TIMEOUT=abc", "CODEMODE_SANDBOX_PIDS=many", "MCP_BRIDGE_MAX_TIMEOUT="),
		Flags:  map[string]any{"sandbox.memory": "lots"},
	})
	want := `CODEMODE_SANDBOX_PIDS "many" cannot be used: write a whole number from 8 on
MCP_BRIDGE_TIMEOUT "abc" cannot be used: write a time above 0, such as 30, 30s or 2m
--memory "lots" cannot be used: write bytes, or 512k, 512m, 1g, 1GiB, at least 16m`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
}

// TestAmbiguousGrants holds that a pattern which could let another tool be called than is meant is refused, and told in
// the ways in which it is clear; what forbids or asks takes it for both.
func TestAmbiguousGrants(t *testing.T) {
	for _, name := range []string{"CODEMODE_EXPOSE", "CODEMODE_POLICY_ALLOW", "CODEMODE_POLICY_APPROVED"} {
		_, err := Load(Source{Lookup: env(name + "=x.y,a.b.c")})
		var wrong *ValueError
		if !errors.As(err, &wrong) || wrong.Value != "a.b.c" || len(wrong.Hint()) != 1 ||
			!strings.HasSuffix(wrong.Hint()[0], `write "a".b.c or "a.b".c`) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Load(Source{Lookup: env(name + `="a.b".c`)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load(Source{Lookup: env("CODEMODE_POLICY_DENY=a.b.c", "CODEMODE_POLICY_CONFIRM=a.b.c")}); err != nil {
		t.Error(err)
	}
}

// TestFloors holds that what Python cannot start with is refused, and by how much.
func TestFloors(t *testing.T) {
	_, err := Load(Source{
		Lookup: env("CODEMODE_SANDBOX_TMP_SIZE=4k", "CODEMODE_SANDBOX_WORK_SIZE=1", "MCP_BRIDGE_PIDS=7"),
		Flags:  map[string]any{"sandbox.memory": "15m"},
	})
	want := `MCP_BRIDGE_PIDS "7" cannot be used: write a whole number from 8 on
CODEMODE_SANDBOX_TMP_SIZE "4k" cannot be used: write bytes, or 512k, 512m, 1g, 1GiB, at least 1m
CODEMODE_SANDBOX_WORK_SIZE "1" cannot be used: write bytes, or 512k, 512m, 1g, 1GiB, at least 1m
--memory "15m" cannot be used: write bytes, or 512k, 512m, 1g, 1GiB, at least 16m`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
}

func TestUnknownVariables(t *testing.T) {
	unknown := UnknownVariables([]string{
		"CODEMODE_SANDBOX_MEMROY=s3cret", "CODEMODE_SANDBOX_MEMORY=1g", "CODEMODE_CONFIG=x", "CODEMODE_TEST_X=1",
		"CODEMODE_DEPTH=1", "MCP_BRIDGE_MEMROY=1", "MCP_BRIDGE_MEMORY=1g", "CODEMODE=1", "=C:=x",
	})
	if len(unknown) != 2 || unknown[1].Name != "MCP_BRIDGE_MEMROY" ||
		!slices.Contains(hint.Of(unknown[1]), `did you mean "MCP_BRIDGE_MEMORY"?`) {
		t.Errorf("got %v", unknown)
	}
	if unknown[0].Error() != `environment variable "CODEMODE_SANDBOX_MEMROY" means nothing to codemode` {
		t.Errorf("got %v", unknown)
	}
}

func TestCeiling(t *testing.T) {
	_, err := Load(Source{Lookup: env("MCP_BRIDGE_TIMEOUT=10m")})
	var ceiling *CeilingError
	if !errors.As(err, &ceiling) || ceiling.TimeoutFrom != "MCP_BRIDGE_TIMEOUT" {
		t.Errorf("a default deadline above the ceiling: %v", err)
	}
	c, err := Load(Source{Lookup: env("MCP_BRIDGE_MAX_TIMEOUT=10")})
	if err != nil || c.Run.Timeout != 10*time.Second {
		t.Errorf("a ceiling below the built-in deadline: %v, %v", c.Run.Timeout, err)
	}
}

func TestFilesAdd(t *testing.T) {
	c, err := Load(Source{
		Dir: "/cwd", Lookup: env("MCP_SERVERS_CONFIG=env.json"),
		Flags: map[string]any{"mcp.files": []string{"a.json", "/b.json"}},
	})
	if want := []string{
		"/cwd/a.json", "/b.json", "/cwd/env.json",
	}; err != nil ||
		!reflect.DeepEqual(c.Servers.Files, want) {
		t.Errorf("got %v, %v, want %v", c.Servers.Files, err, want)
	}
}

// TestMounts: what is left out of a mount is filled in, from where it was written.
func TestMounts(t *testing.T) {
	for text, want := range map[string]string{
		"data": "/cwd/data:data:ro", "/a/b/": "/a/b:b:ro", "data:rw": "/cwd/data:data:rw", "data:ro": "/cwd/data:data:ro",
		"../x:in:rw": "/x:in:rw", "data:in": "/cwd/data:in:ro", "/a:b:c:ro": "/a:b:c:ro", "~/x": "/home/me/x:x:ro",
		"data:rx:ro": "/cwd/data:rx:ro", "data:rw:ro": "/cwd/data:rw:ro",
	} {
		c, err := Load(Source{
			Dir: "/cwd", Lookup: env("HOME=/home/me"), Flags: map[string]any{"files.mounts": []string{text}},
		})
		if err != nil || len(c.Files.Folders()) != 1 || c.Files.Folders()[0].String() != want {
			t.Errorf("%q: %v, %v; want %q", text, c.Files.Mounts, err, want)
		}
	}
	for _, text := range []string{":rw", "", "data:", "data:rx", "data:in:wo", "rw:rx", "data:..", "data:" + strings.Repeat("x", 256)} {
		if m, ok := parseMount(text, place{dir: "/cwd"}); ok {
			t.Errorf("%q is taken for %v", text, m)
		}
	}
}
