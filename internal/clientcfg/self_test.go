package clientcfg_test

import (
	"maps"
	"slices"
	"testing"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
)

// TestStartsOriginal holds what is taken for the original where an entry would be replaced: not what only is given its
// folder.
func TestStartsOriginal(t *testing.T) {
	for _, c := range []struct {
		want bool
		argv []string
	}{
		{true, []string{"uvx", "mcp-server-code-execution-mode", "run"}},
		{true, []string{"uvx", "--from", "git+https://example.com/x/mcp-server-code-execution-mode", "mcp-server-code-execution-mode"}},
		{true, []string{"uv", "run", "--directory", "/src", "mcp_server_code_execution_mode.py"}},
		{true, []string{"python3", "-m", "mcp_server_code_execution_mode"}},
		{true, []string{"env", "A=b", "/opt/bin/mcp-server-code-execution-mode"}},
		{false, []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "/src/mcp-server-code-execution-mode"}},
		{false, []string{"codemode", "serve"}},
	} {
		s := config.Server{Name: "x", Command: c.argv[0], Args: c.argv[1:]}
		if got := clientcfg.StartsOriginal(s); got != c.want {
			t.Errorf("StartsOriginal(%q) = %v", c.argv, got)
		}
	}
}

func TestGivenHasWhatEnvAssigns(t *testing.T) {
	values, passed := clientcfg.Given(config.Server{
		Command: "env", Args: []string{"MCP_BRIDGE_PIDS=9", "uvx", "x"}, Env: map[string]string{"A": "b"},
		EnvPass: []string{"C"},
	})
	if want := map[string]string{
		"A": "b", "MCP_BRIDGE_PIDS": "9",
	}; !maps.Equal(values, want) ||
		!slices.Equal(passed, []string{"C"}) {
		t.Errorf("got %v and %v", values, passed)
	}
}
