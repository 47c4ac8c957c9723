package upstream

import (
	"encoding/json"
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

// TestNPM runs servers that nobody here wrote: with the packages @modelcontextprotocol/server-everything, -memory and
// -filesystem from npm, and their node_modules/.bin in PATH.
func TestNPM(t *testing.T) {
	need(t, "npm", "mcp-server-everything", "mcp-server-memory", "mcp-server-filesystem")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("some text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newPool(t, nil,
		config.Server{Name: "everything", Command: "mcp-server-everything", Args: []string{"stdio"}},
		config.Server{Name: "memory", Command: "mcp-server-memory", Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.json")}},
		config.Server{Name: "files", Command: "sh", Args: []string{"-c", `"$0" "$@"; exit $?`, "mcp-server-filesystem", dir}},
	)
	for _, c := range []struct{ server, tool, args, want string }{
		{"everything", "echo", `{"message":"hi"}`, "hi"},
		{"everything", "get-sum", `{"a":1,"b":2}`, "3"},
		{"memory", "create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["writes"]}]}`, "Ada"},
		{"memory", "read_graph", `{}`, "writes"},
		{"files", "read_text_file", `{"path":"` + dir + `/a.txt"}`, "some text"},
		{"files", "read_text_file", `{"path":"/etc/passwd"}`, `"isError":true`},
	} {
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
}
