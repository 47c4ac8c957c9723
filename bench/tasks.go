package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tasks counts what ten tasks of daily work cost a model through a real client, Claude Code: as the calls it would make
// directly, and as the code it would write. What is counted is what the client has sent when the task is done:
// definitions of tools and instructions of servers, calls, results; each once, though a client sends all of it anew
// with every turn.
func (b *bench) tasks(ctx context.Context) error {
	client := filepath.Join(b.npm, "node_modules", ".bin", "claude")
	if _, err := os.Stat(client); b.npm == "" || err != nil {
		b.add("ten tasks", "not measured: no -npm with Claude Code", "", "")
		return nil
	}
	var direct, code int
	for _, t := range dailyTasks {
		d, err := b.task(ctx, client, t, false)
		if err != nil {
			return fmt.Errorf("%s, directly: %w", t.name, err)
		}
		c, err := b.task(ctx, client, t, true)
		if err != nil {
			return fmt.Errorf("%s, as code: %w", t.name, err)
		}
		direct, code = direct+d, code+c
		b.add(
			"task: "+t.name, fmt.Sprintf("%d tokens directly, %d as code: %.1f %%", d, c, 100*float64(c)/float64(d)),
			"", "",
		)
	}
	share := 100 * float64(code) / float64(direct)
	b.add(
		"ten tasks together, o200k", fmt.Sprintf("%d tokens directly, %d as code: %.1f %%", direct, code, share),
		"10 %", met(share <= 10),
	)
	return nil
}

// task does one task in a folder of its own, and counts what the model was sent.
func (b *bench) task(ctx context.Context, client string, t dailyTask, asCode bool) (int, error) {
	dir, err := os.MkdirTemp(b.dir, "task-")
	if err != nil {
		return 0, err
	}
	if err := fixture(dir); err != nil {
		return 0, err
	}
	m := &model{turns: t.turns(dir)}
	servers := b.realServers(dir)
	if asCode {
		file := b.servers(filepath.Base(dir), servers)
		env := map[string]string{"MCP_SERVERS_CONFIG": file, "XDG_CACHE_HOME": filepath.Join(b.dir, "cache")}
		servers = map[string]any{
			"codemode": map[string]any{"command": b.codemode, "args": []string{"serve"}, "env": env},
		}
		m.turns = [][]toolCall{
			{
				{
					"codemode", "run_python",
					map[string]any{"code": fmt.Sprintf("print(await runtime.search_tool_docs(%q))", t.search)},
				},
			},
			{
				{
					"codemode", "run_python",
					map[string]any{"code": strings.ReplaceAll(strings.TrimSpace(t.code), "DIR", dir)},
				},
			},
		}
	}
	if err := b.claude(ctx, client, dir, servers, m); err != nil {
		return 0, err
	}
	if asCode {
		if _, _, result, err := m.texts(); err != nil || !strings.Contains(result, t.says) {
			return 0, errors.Join(err, fmt.Errorf("the code says %s, want %q", result, t.says))
		}
	}
	return b.taskTokens(m)
}

// realServers are npm's servers that need neither network nor account, which may use one folder.
func (b *bench) realServers(dir string) map[string]any {
	bin := func(name string) string { return filepath.Join(b.npm, "node_modules", ".bin", name) }
	return map[string]any{
		"filesystem": map[string]any{"command": bin("mcp-server-filesystem"), "args": []string{dir}},
		"memory": map[string]any{
			"command": bin("mcp-server-memory"),
			"env":     map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")},
		},
		"everything": map[string]any{"command": bin("mcp-server-everything")},
	}
}

// claude runs Claude Code against the model, with these servers and nothing else.
func (b *bench) claude(ctx context.Context, client, dir string, servers map[string]any, m *model) error {
	address, closed, err := m.serve()
	if err != nil {
		return err
	}
	defer closed()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	config := b.servers(filepath.Base(dir)+"-client", servers)
	cmd := exec.CommandContext(ctx, client, "-p", "do the task", "--mcp-config", config, "--strict-mcp-config",
		"--allowedTools", "mcp__filesystem,mcp__memory,mcp__everything,mcp__codemode")
	cmd.Dir = dir
	cmd.Env = []string{
		"HOME=" + filepath.Join(b.dir, "home"),
		"PATH=" + os.Getenv("PATH"),
		"ANTHROPIC_API_KEY=none",
		"ANTHROPIC_BASE_URL=" + address,
		"MCP_CONNECTION_NONBLOCKING=0",
		"DISABLE_TELEMETRY=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
		"ENABLE_TOOL_SEARCH=false", // definitions are sent, as every client does that has no search of its own
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if !strings.Contains(string(out), "done") {
		return fmt.Errorf("the client says %s", out)
	}
	return nil
}

// texts are what the model was sent: definitions and instructions, calls, results; and the last of these.
func (m *model) texts() (definitions, calls []string, result string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	definitions, _ = m.last.tools()
	definitions = append(definitions, instructions(m.last))
	for _, b := range m.last.blocks() {
		switch b.Type {
		case "tool_use":
			calls = append(calls, b.Name+string(b.Input))
		case "tool_result":
			if b.IsError {
				err = errors.Join(err, fmt.Errorf("a call failed: %s", b.Content))
			}
			result = text(b.Content)
			calls = append(calls, result)
		}
	}
	if len(calls) == 0 {
		err = errors.New("no call was made")
	}
	return definitions, calls, result, err
}

func (b *bench) taskTokens(m *model) (sum int, err error) {
	definitions, calls, _, err := m.texts()
	if err != nil {
		return 0, err
	}
	counts, err := b.count(slices.Concat(definitions, calls)...)
	for _, n := range counts {
		sum += n
	}
	return sum, err
}

// instructions are what servers have said at initialize, as Claude Code tells its model.
func instructions(r request) string {
	all := []string{text(r.System)}
	for _, b := range r.blocks() {
		all = append(all, b.Text)
	}
	for _, t := range all {
		if _, after, ok := strings.Cut(t, "# MCP Server Instructions\n"); ok {
			if end := strings.Index(after, "\n# "); end >= 0 {
				after = after[:end]
			}
			after, _, _ = strings.Cut(after, "</system-reminder>")
			return after
		}
	}
	return ""
}

// text is the text of content, be it blocks or a string.
func text(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var blocks []block
	_ = json.Unmarshal(content, &blocks)
	var parts []string
	for _, b := range blocks {
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n")
}
