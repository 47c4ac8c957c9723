package testscripts

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/require"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

// TestAuditSurvivesKill holds that a call whose result a client has seen is in the log, whatever becomes of codemode
// the moment after, and that the log of many such ends can be read.
func TestAuditSurvivesKill(t *testing.T) {
	t.Parallel()
	cache := scriptCache(t)
	native, _ := condition(t, cache)("native")
	if !native {
		t.Skip("needs a sandbox")
	}
	adoptOrphans(t)
	times := 5
	if require.Named("random") {
		times = 50
	}
	home := t.TempDir()
	env := append(
		os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+cache,
		"CODEMODE_AUDIT_MAX_SIZE=64k", "CODEMODE_AUDIT_KEEP=100",
	)
	write(t, filepath.Join(home, "MCPs", "fake.json"), `{"mcpServers": {"fake": {"command": "fakemcp"}}}`)
	made := map[string]int{} // acknowledged calls, by run
	for n := range times {
		run, calls := callAndKill(t, env, 1+n%7)
		made[run] = calls
	}
	cmd := exec.Command("codemode", "audit", "--json", "--limit", "0")
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for lines.Scan() {
		line := gjson.Parse(lines.Text())
		if line.Get("event").String() == "call" && line.Get("outcome").String() == "ok" {
			made[line.Get("run").String()]--
		}
	}
	if len(made) != times {
		t.Errorf("%d runs for %d", len(made), times)
	}
	for run, missing := range made {
		if missing != 0 {
			t.Errorf("run %s: %d acknowledged calls are not in the log", run, missing)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// callAndKill has a session make calls, and kills codemode with the result still in its hands.
func callAndKill(t *testing.T, env []string, calls int) (run string, acknowledged int) {
	t.Helper()
	cmd := exec.Command("codemode", "serve")
	cmd.Env = env
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := killer{out, cmd}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: killed, Writer: in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	code := "for n in range(" + string(rune('0'+calls)) + "): await mcp_fake.echo(message=str(n))"
	result, err := client.CallTool(
		context.Background(), &mcp.CallToolParams{Name: "run_python", Arguments: map[string]any{"code": code}},
	)
	if err != nil || result.IsError {
		t.Fatal(err, result)
	}
	_ = client.Close()
	_ = cmd.Wait()
	receipt, err := json.Marshal(result.Meta["codemode/receipt"])
	if err != nil {
		t.Fatal(err)
	}
	return gjson.GetBytes(receipt, "run").String(), int(gjson.GetBytes(receipt, `byTool.fake\.echo.ok`).Int())
}

// killer hands on what codemode says; with the first byte of a result of run_python, it kills it.
type killer struct {
	io.ReadCloser
	cmd *exec.Cmd
}

func (k killer) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	if strings.Contains(string(p[:n]), `"codemode/receipt"`) {
		_ = k.cmd.Process.Kill()
	}
	return n, err
}
