package upstream

import (
	"slices"
	"testing"
	"time"

	"codemode/internal/config"
)

func TestStartLimit(t *testing.T) {
	f := newPool(t, func(o *Options) { o.StartTimeout = time.Minute })
	for _, c := range []struct {
		server config.Server
		want   time.Duration
	}{
		{config.Server{Command: "node"}, time.Minute},
		{config.Server{Command: "/usr/bin/npx", Args: []string{"-y", "a"}}, 5 * time.Minute},
		{config.Server{Command: "npx.cmd"}, 5 * time.Minute},
		{config.Server{Command: "uvx", StartTime: time.Second}, time.Second},
		{config.Server{URL: "https://example.com/mcp"}, time.Minute},
	} {
		if got := (&server{pool: f.Pool, config: c.server}).startLimit(); got != c.want {
			t.Errorf("%q %q: %v, want %v", c.server.Command, c.server.URL, got, c.want)
		}
	}
}

// What Node 20 writes of a package of which npx 11 has installed a part.
const halfInstalledWords = `node:internal/modules/package_json_reader:256
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
        ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from ` +
	`/home/me/.npm/_npx/15b07286cbcc3329/node_modules/@modelcontextprotocol/server-memory/dist/index.js
    at Object.getPackageJSONURL (node:internal/modules/package_json_reader:256:9)
    at packageResolve (node:internal/modules/esm/resolve:768:81) {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v20.20.2
`

func TestHalfInstalled(t *testing.T) {
	e := &StartError{Server: "memory", Step: "initialize", Stderr: halfInstalledWords, Source: "/home/me/MCPs/memory.json"}
	const repair = `npx was ended while it installed this; remove "/home/me/.npm/_npx/15b07286cbcc3329", ` +
		`and it installs all of it anew`
	if hints := e.Hint(); !slices.Contains(hints, repair) {
		t.Errorf("hints: %q", hints)
	}
	if way := e.Way(); way != "for the user: "+repair {
		t.Errorf("way: %q", way)
	}
	want := []string{
		"node:internal/modules/package_json_reader:256",
		"  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);",
		"Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from " +
			"/home/me/.npm/_npx/15b07286cbcc3329/node_modules/@modelcontextprotocol/server-memory/dist/index.js",
		"  code: 'ERR_MODULE_NOT_FOUND'",
	}
	if got := e.LastWords(); !slices.Equal(got, want) {
		t.Errorf("last words: %q", got)
	}
	e.Stderr = "Error: Cannot find module '/srv/server.js'"
	if hints := e.Hint(); slices.Contains(hints, repair) || len(hints) != 1 {
		t.Errorf("another program's: %q", hints)
	}
}
