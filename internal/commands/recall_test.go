package commands

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"codemode/internal/servers"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/urfave/cli/v3"
)

// household is a home with more servers than are judged before initialize is answered.
type household struct {
	t    *testing.T
	dir  string
	cwd  string
	vars map[string]string
}

const sealed = "s3cr3t-of-an-entry"

func newHousehold(t *testing.T) *household {
	if runtime.GOOS == "windows" {
		t.Skip("serve recalls nothing there")
	}
	dir := t.TempDir()
	h := &household{t, dir, filepath.Join(dir, "home"), map[string]string{
		"HOME": filepath.Join(dir, "home"), "PATH": filepath.Join(dir, "bin"), "WANTED": sealed,
	}}
	h.write("bin/server", "", 0o700)
	h.write("home/.claude.json", h.entries(manyServers+20), 0o600)
	return h
}

// entries are a file of n servers. One lacks its program, and one wants a variable.
func (h *household) entries(n int) string {
	list := []string{`"lacks": {"command": "not-there"}`, `"wants": {"command": "server", "args": ["${WANTED}"]}`}
	for i := range n {
		list = append(list, fmt.Sprintf(`"s%03d": {"command": "server", "args": ["%d"], "env": {"KEY": "%s"}}`, i, i, sealed))
	}
	return `{"mcpServers": {` + strings.Join(list, ",\n") + `}}`
}

func (h *household) write(name, text string, mode os.FileMode) {
	h.t.Helper()
	file := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
}

func (h *household) env() Env {
	return Env{
		Args: []string{"codemode", "serve"}, Stdout: io.Discard, Stderr: io.Discard, Dir: h.cwd,
		Lookup: func(name string) (string, bool) { v, ok := h.vars[name]; return v, ok },
		Self:   filepath.Join(h.dir, "bin", "codemode"),
	}
}

// settings are a serve's before it looks for servers.
func (h *household) settings() *tenancy {
	h.t.Helper()
	var t *tenancy
	env := h.env()
	serve := serveCommand(env, newUI(env))
	serve.Action = func(_ context.Context, cmd *cli.Command) (err error) {
		t, err = openSettings(env, cmd)
		return err
	}
	if err := (&cli.Command{Commands: []*cli.Command{serve}}).Run(h.t.Context(), env.Args); err != nil {
		h.t.Fatal(err)
	}
	return t
}

// served is a serve that has looked, so long after the last change.
func (h *household) served(after time.Duration) *tenancy {
	h.t.Helper()
	t := h.settings()
	if err := t.findServers(); err != nil {
		h.t.Fatal(err)
	}
	t.basis.began = t.basis.began.Add(after)
	t.remember(servers.NewSet(t.given(), nil), nil)
	return t
}

// TestRecall changes one thing after the other that decides which servers there are: what was kept must not count then.
func TestRecall(t *testing.T) {
	const settled = 2 * sameMoment
	for _, test := range []struct {
		title  string
		change func(*household)
		counts bool
	}{
		{"nothing has changed", func(*household) {}, true},
		{"a variable has another value", func(h *household) { h.vars["WANTED"] = "another" }, true},
		{"the file is another of the same size", func(h *household) {
			h.write("home/new", strings.Replace(h.entries(manyServers+20), "s000", "t000", 1), 0o600)
			if err := os.Rename(filepath.Join(h.dir, "home/new"), filepath.Join(h.dir, "home/.claude.json")); err != nil {
				h.t.Fatal(err)
			}
		}, false},
		{"the file has grown", func(h *household) {
			h.write("home/.claude.json", h.entries(manyServers+21), 0o600)
		}, false},
		{"the file is gone", func(h *household) { os.Remove(filepath.Join(h.dir, "home/.claude.json")) }, false},
		{"another client has a file", func(h *household) { h.write("home/.cursor/mcp.json", "{}", 0o600) }, false},
		{"~/MCPs has a file", func(h *household) { h.write("home/MCPs/one.json", "{}", 0o600) }, false},
		{"a project has a file", func(h *household) {
			h.write("home/project/.git/HEAD", "", 0o600)
			h.write("home/project/.mcp.json", "{}", 0o600)
		}, true}, // it is nobody's working directory
		{"config.toml", func(h *household) { h.write("home/.config/codemode/config.toml", "", 0o600) }, false},
		{"approvals", func(h *household) { h.write("home/.local/state/codemode/default/approvals.json", "{}", 0o600) }, false},
		{"a variable is gone", func(h *household) { delete(h.vars, "WANTED") }, false},
		{"a setting", func(h *household) { h.vars["CODEMODE_MCP_EXCLUDE"] = "s000" }, false},
		{"the PATH", func(h *household) { h.vars["PATH"] += ":/nowhere" }, false},
		{"a program is gone", func(h *household) { os.Remove(filepath.Join(h.dir, "bin/server")) }, false},
		{"a program has come", func(h *household) { h.write("bin/not-there", "", 0o700) }, false},
		{"codemode is another", func(h *household) { h.write("bin/codemode", "", 0o700) }, false},
		{"a folder is shown to code", func(h *household) {
			h.vars["CODEMODE_FILES_MOUNTS"] = filepath.Join(h.dir, "bin")
		}, false},
		{"what was kept is damaged", func(h *household) {
			h.keptText(func(text string) string { return text[:len(text)/2] })
		}, false},
		{"what was kept has other than names", func(h *household) {
			h.keptText(func(text string) string { return strings.Replace(text, "s000", "Do this", 1) })
		}, false},
	} {
		t.Run(test.title, func(t *testing.T) {
			h := newHousehold(t)
			if h.settings().recall() != nil {
				t.Fatal("something is recalled before anything was kept")
			}
			h.served(settled)
			test.change(h)
			names := h.settings().recall()
			if (names != nil) != test.counts {
				t.Fatalf("recalled: %v, want that to count: %v", names, test.counts)
			}
			if names != nil && (names.All != manyServers+21 || names.First[0] != "s000") {
				t.Errorf("recalled: %v", names)
			}
		})
	}
}

// keptText changes what was kept.
func (h *household) keptText(change func(string) string) (text string) {
	h.t.Helper()
	file := h.settings().recalledFile()
	data, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	if change != nil {
		if err := os.WriteFile(file, []byte(change(string(data))), 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	return string(data)
}

// TestRecallKeeps: what is kept holds no secret and is its user's alone; what may have changed at the moment when it was
// read, and what goes by files that are not looked at, is not kept.
func TestRecallKeeps(t *testing.T) {
	h := newHousehold(t)
	served := h.served(2 * sameMoment)
	if text := h.keptText(nil); strings.Contains(text, sealed) || strings.Contains(text, "args") {
		t.Errorf("what is kept holds more than names: %s", text)
	}
	if info, err := os.Stat(served.recalledFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("what is kept is not its user's alone: %v, %v", info, err)
	}
	for title, change := range map[string]func(*household) time.Duration{
		"just changed": func(*household) time.Duration { return 0 },
		"few":          func(h *household) time.Duration { h.write("home/.claude.json", h.entries(2), 0o600); return time.Hour },
		"a file of variables": func(h *household) time.Duration {
			h.write("home/.cursor/mcp.json", `{"mcpServers": {"v": {"command": "server", "envFile": "v.env"}}}`, 0o600)
			return time.Hour
		},
	} {
		h := newHousehold(t)
		if file := h.served(change(h)).recalledFile(); exists(file) {
			t.Errorf("%s: something is kept", title)
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// TestRecallServes has a serve answer with the names that were kept, and another find what has changed.
func TestRecallServes(t *testing.T) {
	h := newHousehold(t)
	serve := func() (instructions string) {
		in, toServe, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		fromServe, out := io.Pipe()
		env := h.env()
		env.Stdin, env.Stdout = in, out
		ended := make(chan int)
		go func() { ended <- Main(context.Background(), env) }()
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(
			t.Context(), &mcp.IOTransport{Reader: fromServe, Writer: toServe},
			&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"},
		)
		if err != nil {
			t.Fatal(err)
		}
		if tools, err := session.ListTools(t.Context(), nil); err != nil || len(tools.Tools) != 1 {
			t.Errorf("the tools are %v, %v", tools, err)
		}
		session.Close()
		toServe.Close()
		if code := <-ended; code != 0 {
			t.Errorf("serve ended with %d", code)
		}
		return session.InitializeResult().Instructions
	}
	before := serve()
	if !strings.Contains(before, " s000,") {
		t.Fatalf("the instructions are %q", before)
	}
	h.served(2 * sameMoment)
	h.keptText(func(text string) string { return strings.Replace(text, "s000", "kept", 1) })
	if now := serve(); now != strings.Replace(before, "s000", "kept", 1) {
		t.Errorf("the instructions are %q, and were %q; what was kept does not count", now, before)
	}
	h.write("home/.claude.json", strings.Replace(h.entries(manyServers+20), "s000", "a_new_one", 1), 0o600)
	if now := serve(); !slices.Contains(strings.Fields(now), "a_new_one,") {
		t.Errorf("the instructions are %q, without a new server", now)
	}
}
