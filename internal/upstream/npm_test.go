package upstream

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codemode/internal/config"
	"codemode/internal/require"
)

// need skips the test without its programs; where CODEMODE_REQUIRE names them, it fails.
func need(t *testing.T, what string, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		}
		require.Lacking(t, what, "%s is not in PATH", p)
	}
}

// TestNPM runs servers that nobody here wrote: with the packages @modelcontextprotocol/server-everything and -memory from
// npm, and their node_modules/.bin in PATH.
func TestNPM(t *testing.T) {
	need(t, "npm", "mcp-server-everything", "mcp-server-memory")
	dir := t.TempDir()
	u := &asker{}
	f := newPool(
		t,
		func(o *Options) { o.Answer, o.Offers = u.answer, can },
		config.Server{Name: "everything", Command: "mcp-server-everything", Args: []string{"stdio"}},
		config.Server{
			Name: "memory", Command: "mcp-server-memory",
			Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.json")},
		},
	)
	for _, c := range []toolCall{
		{"everything", "echo", `{"message":"hi"}`, "hi"},
		{"everything", "get-sum", `{"a":1,"b":2}`, "3"},
		{"everything", "trigger-elicitation-request", `{}`, `\"age\": 36`},
		{"everything", "trigger-url-elicitation", `{"url":"https://a.example/","message":"m"}`, "declined"},
		{"everything", "trigger-sampling-request", `{"prompt":"hi"}`, "so be it"},
		{"everything", "get-roots-list", `{}`, "file:///home"},
		{"memory", "create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["writes"]}]}`, "Ada"},
		{"memory", "read_graph", `{}`, "writes"},
	} {
		f.check(t, c)
	}
}

// TestNPMFilesystem runs a server that would take a client's roots in place of its folder, for a client without any.
func TestNPMFilesystem(t *testing.T) {
	need(t, "npm", "mcp-server-filesystem")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("some text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newPool(t, nil, config.Server{
		Name: "files", Command: "sh", Args: []string{"-c", `"$0" "$@"; exit $?`, "mcp-server-filesystem", dir},
	})
	f.check(t, toolCall{"files", "read_text_file", `{"path":"` + dir + `/a.txt"}`, "some text"})
	f.check(t, toolCall{"files", "read_text_file", `{"path":"/etc/passwd"}`, `"isError":true`})
}

// A toolCall is one of a listed tool, and a part of what it results in.
type toolCall struct{ server, tool, args, want string }

func (f *fixture) check(t *testing.T, c toolCall) {
	t.Run(c.server+"."+c.tool, func(t *testing.T) {
		if names := f.names(c.server); !slices.Contains(names, c.tool) {
			t.Fatalf("the tools are %q", names)
		}
		raw, err := f.Call(t.Context(), c.server, c.tool, json.RawMessage(c.args))
		if err != nil || !strings.Contains(string(raw), c.want) {
			t.Errorf("the result is %.300s, %v, want %q", raw, err, c.want)
		}
	})
}

// TestNPMByURL reaches a server that nobody here wrote by URL, and again after it was started anew and has forgotten
// its session.
func TestNPMByURL(t *testing.T) {
	need(t, "npm", "mcp-server-everything")
	for kind, path := range map[string]string{"streamableHttp": "/mcp", "sse": "/sse"} {
		t.Run(kind, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			addr := l.Addr().String()
			l.Close()
			u := &asker{}
			f := newPool(t, func(o *Options) { o.Answer, o.Offers = u.answer, can }, config.Server{
				Name: "far", URL: "http://" + addr + path,
			})
			for _, message := range []string{"first", "again"} {
				stop := startNode(f, addr, "mcp-server-everything", kind)
				raw, err := f.Call(t.Context(), "far", "echo", json.RawMessage(`{"message":"`+message+`"}`))
				if err != nil || !strings.Contains(string(raw), message) {
					t.Errorf("the result is %.300s, %v, want %q", raw, err, message)
				}
				raw, err = f.Call(t.Context(), "far", "trigger-sampling-request", json.RawMessage(`{"prompt":"hi"}`))
				if err != nil || !strings.Contains(string(raw), "so be it") {
					t.Errorf("the result is %.300s, %v", raw, err)
				}
				stop()
			}
		})
	}
}

// startNode starts a server that listens at an address.
func startNode(f *fixture, addr string, command ...string) (stop func()) {
	f.t.Helper()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.eventually("a server at "+addr, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
