package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Sample is a config.toml that changes nothing: every setting is there, with what it is, as a comment.
func Sample() string {
	var b strings.Builder
	b.WriteString("# codemode's settings. Each is shown with its default: take away the # to change one.\n" +
		"# codemode config         shows what is in effect, and where it is from\n" +
		"# codemode config check   looks for mistakes\n")
	section := ""
	for _, k := range keys {
		table, name, ok := strings.Cut(k.name, ".")
		switch {
		case !ok:
			name = k.name
			b.WriteByte('\n')
		case table != section:
			section = table
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		fmt.Fprintf(&b, "# %-32s # %s\n", name+" = "+k.sample(), k.doc)
	}
	b.WriteString(`
# MCP servers of your own
# [servers.memory]
# command = "npx"
# args = ["-y", "@modelcontextprotocol/server-memory"]
# env = { MEMORY_FILE_PATH = "${HOME}/memory.json" }

# Tenants: each has everything above, but what it sets itself, and shares no server, session or cache with others.
# Choose one with --tenant or CODEMODE_TENANT.
# [tenants.work]
# run.max_timeout = "60s"
# mcp.include = ["github*"]
# [tenants.work.servers.tickets]
# command = "tickets-mcp"
`)
	return b.String()
}

// sample is a key's default as TOML, which for these types is written as JSON.
func (k key) sample() string {
	v := any(k.def)
	switch {
	case k.kind.list != "":
		v, _ = k.kind.value(k.def, place{})
	case k.kind.native != nil && k.def != "":
		v, _ = k.kind.value(k.def, place{})
		v = written(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is text, a number or a list of texts
	}
	return strings.ReplaceAll(string(text), `","`, `", "`)
}
