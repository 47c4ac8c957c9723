package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// searchProcess measures `codemode search` with the tools of the corpus cached, as a refresh has left them.
func (b *bench) searchProcess(context.Context) error {
	catalog, err := filepath.Abs(filepath.Join(corpus, "catalog.json"))
	if err != nil {
		return err
	}
	servers, err := readCorpus(catalog)
	if err != nil {
		b.add("`codemode search`", "not measured: "+err.Error(), "", "")
		return nil
	}
	entries := map[string]any{}
	for name := range servers {
		entries[name] = b.self("corpus", catalog, name)
	}
	env := []string{"MCP_SERVERS_CONFIG=" + b.servers("corpus", entries)}
	if _, err := timed(b.command(env, "servers", "refresh")); err != nil {
		return err
	}
	tools, err := b.listed(env, len(servers))
	if err != nil {
		return err
	}
	m, err := b.repeat(env, "search", "open a pull request")
	if err != nil {
		return err
	}
	b.add(
		fmt.Sprintf("`codemode search`, whole process, %d tools cached", tools),
		ms(m),
		"40 ms",
		met(m <= 40*time.Millisecond),
	)
	return nil
}

// repeat is the median time of a whole command.
func (b *bench) repeat(env []string, args ...string) (time.Duration, error) {
	var took []time.Duration
	for range b.n {
		d, err := timed(b.command(env, args...))
		if err != nil {
			return 0, err
		}
		took = append(took, d)
	}
	return median(took), nil
}

// listed is how many tools `codemode servers` knows, all of whose count servers have to be there.
func (b *bench) listed(env []string, count int) (tools int, err error) {
	out, err := b.command(env, "servers", "--json").Output()
	if err != nil {
		return 0, fmt.Errorf("codemode servers --json: %w", err)
	}
	var rows []struct{ Tools int }
	if err := json.Unmarshal(out, &rows); err != nil {
		return 0, err
	}
	if len(rows) != count {
		return 0, fmt.Errorf("codemode servers lists %d of %d servers", len(rows), count)
	}
	for _, r := range rows {
		tools += r.Tools
	}
	return tools, nil
}

// listing measures `codemode servers` in a home where twelve programs' files hold 100 servers.
func (b *bench) listing(context.Context) error {
	home := filepath.Join(b.dir, "busy")
	if err := fillHome(home); err != nil {
		return err
	}
	env := []string{"HOME=" + home}
	if _, err := b.listed(env, 100); err != nil {
		return err
	}
	m, err := b.repeat(env, "servers")
	if err != nil {
		return err
	}
	b.add("`codemode servers`, whole process, 100 servers in 12 files", ms(m), "40 ms", met(m <= 40*time.Millisecond))
	return nil
}

// homes are files of programs that hold servers, in their several forms; %d is the number of a server.
var homes = []struct {
	files                        []string
	count                        int // of servers in each
	before, each, between, after string
}{
	{
		files: []string{
			".claude.json", ".cursor/mcp.json", ".config/Claude/claude_desktop_config.json", ".gemini/settings.json",
			".codeium/windsurf/mcp_config.json", ".kiro/settings/mcp.json", ".copilot/mcp-config.json", "MCPs/one.json",
			"MCPs/two.json",
		},
		count: 9, before: `{"mcpServers": {`, each: jsonEntry, between: ",\n", after: "}}\n",
	},
	{
		files: []string{".config/Code/User/mcp.json"},
		count: 7, before: "// mine\n{\"servers\": {", each: jsonEntry, between: ",\n", after: "}}\n",
	},
	{
		files: []string{".codex/config.toml"},
		count: 6, each: "[mcp_servers.server-%d]\ncommand = \"npx\"\nargs = [\"-y\", \"@scope/server-%[1]d\"]\n",
	},
	{
		files: []string{".config/goose/config.yaml"},
		count: 6, before: "extensions:\n",
		each: "  server-%d: {type: stdio, cmd: npx, args: [-y, \"@scope/server-%[1]d\"], enabled: true}\n",
	},
}

const jsonEntry = `"server-%d": {"command": "npx", "args": ["-y", "@scope/server-%[1]d", "--flag"], "env": {"TOKEN": "${HOME}"}}`

func fillHome(home string) error {
	n := 0
	for _, h := range homes {
		for _, name := range h.files {
			var entries []string
			for range h.count {
				n++
				entries = append(entries, fmt.Sprintf(h.each, n))
			}
			path := filepath.Join(home, filepath.FromSlash(name))
			text := h.before + strings.Join(entries, h.between) + h.after
			if err := cmp.Or(
				os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600),
			); err != nil {
				return err
			}
		}
	}
	return nil
}

// refresh measures how long it takes to have the tools of 100 servers that nobody has asked before.
func (b *bench) refresh(context.Context) error {
	entries := map[string]any{}
	for i := range 100 {
		entries[fmt.Sprintf("slow-%d", i)] = b.self("fakemcp", "-start-delay", "50ms", "-name", fmt.Sprint(i))
	}
	file := b.servers("slow", entries)
	var took []time.Duration
	for i := range max(5, b.n/6) {
		env := []string{"MCP_SERVERS_CONFIG=" + file, "XDG_CACHE_HOME=" + filepath.Join(b.dir, "empty", fmt.Sprint(i))}
		d, err := timed(b.command(env, "servers", "refresh"))
		if err != nil {
			return err
		}
		took = append(took, d)
		if tools, err := b.listed(env, 100); err != nil || tools < 100 {
			return cmp.Or(err, fmt.Errorf("%d tools of 100 servers were listed", tools))
		}
	}
	m := median(took)
	b.add(
		"`codemode servers refresh`: the tools of 100 servers that take 50 ms to start",
		ms(m),
		"1500 ms",
		met(m <= 1500*time.Millisecond),
	)
	return nil
}

// readCorpus reads the tools of each server as it lists them.
func readCorpus(path string) (map[string][]json.RawMessage, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all struct {
		Servers []struct {
			Name  string
			Tools []json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	servers := map[string][]json.RawMessage{}
	for _, s := range all.Servers {
		servers[s.Name] = s.Tools
	}
	return servers, nil
}

// corpusServer is an MCP server on standard input and output that lists the tools of one server of the corpus, byte
// for byte as that did, and can do nothing else.
func corpusServer(catalog, name string) int {
	servers, err := readCorpus(catalog)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	results := map[string]any{
		"initialize": map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": name, "version": "1"},
		},
		"tools/list": map[string]any{"tools": slices.Concat([]json.RawMessage{}, servers[name])},
	}
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
		if result, ok := results[m.Method]; ok {
			answer["result"] = result
		} else {
			answer["error"] = map[string]any{"code": -32601, "message": "Method not found"}
		}
		if err := out.Encode(answer); err != nil {
			return 1
		}
	}
	return 0
}
