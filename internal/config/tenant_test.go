package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"codemode/internal/policy"
)

const tenantsFile = `
mcp.exclude = ["*prod*"]
run.timeout = 20

[servers.shared]
command = "shared"

[servers.tracker]
command = "everybody's"

[tenants.work]
sandbox.memory = "1g"
mcp.include = ["github*", "tracker"]
[tenants.work.run]
timeout = 40
[tenants.work.servers.tracker]
command = "work's"
[tenants.work.servers.prod-db]
command = "db"

[tenants.empty]
`

func TestIdle(t *testing.T) {
	c := Config{
		Servers: Servers{
			Sandbox: []string{"memry", "git*"}, Include: []string{"github", "*"}, Exclude: []string{"nosuch", "prod"},
		},
		Policy: Policy{
			Rules: policy.Rules{
				Allow: []string{"readonly", "github.no_such_tool"},
				Deny:  []string{"githb.*", "*.delete", "prod.x", "my_prod.x"}, Confirm: []string{"memory.a.b"},
			},
		},
		Expose: []string{"memory.read", `"gitub".*`},
	}
	want := `mcp.sandbox: "memry" mcp.exclude: "nosuch" expose: "\"gitub\".*" policy.deny: "githb.*"`
	if got := strings.Join(
		c.IdlePatterns([]string{"memory", "github", "prod@cursor", "my-prod"}, []string{"my_prod"}), " ",
	); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLimits(t *testing.T) {
	program, remote := Server{Name: "p", Command: "x"}, Server{Name: "r", URL: "https://x"}
	hidden, boxed := Servers{Exclude: []string{"p"}, tenantsOwn: []string{"r"}}, Servers{Sandbox: []string{"*"}}
	for _, tt := range []struct {
		rules   Servers
		server  Server
		settled bool
		want    string
	}{
		{Servers{Include: []string{"a"}}, program, false, ""},
		{hidden, program, true, `mcp.exclude: "p"`},
		{hidden, remote, false, ""},
		{boxed, program, false, `mcp.sandbox: "*"`},
		{boxed, program, true, ""},
		{boxed, remote, false, ""},
	} {
		if got := tt.rules.Limits(tt.server, tt.settled); got != tt.want {
			t.Errorf("%+v, %+v: got %s, want %s", tt.rules, tt.server, got, tt.want)
		}
	}
}

func TestTenants(t *testing.T) {
	file := writeFile(t, tenantsFile)
	for name, tt := range map[string]struct {
		src     Source
		tenant  string
		timeout time.Duration
		memory  int64
		servers []string
		tracker string
	}{
		"none named": {Source{}, "default", 20 * time.Second, 512 << 20, []string{"shared", "tracker"}, "everybody's"},
		"by flag": {
			Source{Flags: map[string]any{"tenant": "work"}, Lookup: env("CODEMODE_TENANT=empty")},
			"work", 40 * time.Second, 1 << 30,
			[]string{"prod-db", "shared", "tracker"},
			"work's",
		},
		"by variable": {Source{Lookup: env("CODEMODE_TENANT=empty")}, "empty", 20 * time.Second, 512 << 20, []string{"shared", "tracker"}, "everybody's"},
		"variables win over a tenant": {
			Source{Flags: map[string]any{"tenant": "work"}, Lookup: env("CODEMODE_RUN_TIMEOUT=50", "MCP_BRIDGE_TIMEOUT=60", "MCP_BRIDGE_MEMORY=2g")},
			"work", 50 * time.Second, 2 << 30,
			[]string{"prod-db", "shared", "tracker"},
			"work's",
		},
	} {
		tt.src.File = file
		c, err := Load(tt.src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := []any{
			c.Tenant, c.Run.Timeout, c.Sandbox.Memory, slices.Sorted(maps.Keys(c.Servers.Own)),
			c.Servers.Own["tracker"].Command,
		}
		want := []any{tt.tenant, tt.timeout, tt.memory, tt.servers, tt.tracker}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, want)
		}
	}
}

func TestTenantOfTheFile(t *testing.T) {
	file := writeFile(t, "tenant = 'work'\n[tenants.work]\nsandbox.pids = 15\n[tenants.default]\nsandbox.pids = 16\n")
	for want, lookup := range map[int]func(string) (string, bool){15: env(), 16: env("CODEMODE_TENANT=default")} {
		if c, err := Load(Source{File: file, Lookup: lookup}); err != nil || c.Sandbox.Pids != want {
			t.Errorf("got %d, %v, want %d", c.Sandbox.Pids, err, want)
		}
	}
}

func TestUnknownTenant(t *testing.T) {
	file := writeFile(t, tenantsFile)
	for want, src := range map[string]Source{
		`--tenant "wrok" cannot be used: config.toml has no tenant of that name`:        {File: file, Flags: map[string]any{"tenant": "wrok"}},
		`CODEMODE_TENANT "wrok" cannot be used: config.toml has no tenant of that name`: {File: file, Lookup: env("CODEMODE_TENANT=wrok")},
	} {
		_, err := Load(src)
		var unknown *UnknownTenantError
		if !errors.As(err, &unknown) || err.Error() != want ||
			!reflect.DeepEqual(unknown.Known, []string{"default", "empty", "work"}) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	// What can be no name at all is not looked for.
	for _, bad := range []string{"../x", "Work", "-x", "a.b", "con", strings.Repeat("x", 33)} {
		_, err := Load(Source{Lookup: env("CODEMODE_TENANT=" + bad)})
		var value *ValueError
		if !errors.As(err, &value) || !strings.Contains(err.Error(), "at most 32 lower case letters") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTenantProblems(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"unknown key":    {"[tenants.a.run]\ntimout = 3\n", `line 2, column 1: unknown key "tenants.a.run.timout"`},
		"unknown table":  {"[tenants.a.sandbx]\nx = 3\n", `line 1, column 12: unknown key "tenants.a.sandbx"`},
		"another tenant": {"[tenants.a]\ntenant = 'b'\n", `line 2, column 1: unknown key "tenants.a.tenant"`},
		"nested":         {"[tenants.a.tenants.b]\n", `line 1, column 12: unknown key "tenants.a.tenants"`},
		"name":           {"[tenants.'A B']\n", `line 1, column 10: tenant "A B" cannot be called that: write a name of`},
		"no table":       {"tenants.a = 3\n", `line 1, column 9: tenant "a" is not a table`},
		"no tables":      {"tenants = 3\n", `line 1, column 1: "tenants" is not a table of tenants`},
		"section":        {"[tenants]\na.run = 3\n", `line 2, column 3: "tenants.a.run" is not a table`},
		"server":         {"[tenants.a.servers.x]\ncomand = 'x'\n", `line 2, column 1: unknown key "tenants.a.servers.x.comand"`},
		"servers":        {"[tenants.a]\nservers = 3\n", `line 2, column 1: "tenants.a.servers" is not a table of servers`},
		// It is not in use, but nobody wants to learn of it on the day it is.
		"value": {"[tenants.a]\nrun.timeout = 'x'\n", `:2:5: tenants.a.run.timeout "x" cannot be used`},
		"glob":  {"[tenants.a]\nmcp.include = ['[a']\n", `:2:5: tenants.a.mcp.include "[a" cannot be used: write patterns`},
	} {
		if _, err := Load(Source{File: writeFile(t, tt.text)}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v\nwant it to say %s", name, err, tt.want)
		}
	}
}

func TestTenantKeysKnowTheirNeighbours(t *testing.T) {
	_, err := Load(Source{File: writeFile(t, "[tenants.a.run]\ntimout = 3\n")})
	var unknown *UnknownKeyError
	if !errors.As(err, &unknown) {
		t.Fatalf("got %v", err)
	}
	if want := []string{
		"tenants.a.run.timeout", "tenants.a.run.max_timeout", "tenants.a.run.grace",
	}; !reflect.DeepEqual(unknown.Known, want) {
		t.Errorf("got %v, want %v", unknown.Known, want)
	}
	_, err = Load(Source{File: writeFile(t, "[tenants.a.run]\nmemory = 3\n")})
	if !errors.As(err, &unknown) || !reflect.DeepEqual(unknown.Known, []string{"tenants.a.sandbox.memory"}) {
		t.Errorf("a key of another table: %v, known %v", err, unknown.Known)
	}
}

func TestSelects(t *testing.T) {
	for _, tt := range []struct {
		include, exclude []string
		own              []string
		yes, no          []string
	}{
		{yes: []string{"a", "a@cursor", ""}},
		{include: []string{"git*", "b"}, yes: []string{"github", "git", "github@cursor", "b"}, no: []string{"a", "b@cursor", "Github"}},
		{exclude: []string{"*prod*"}, yes: []string{"a"}, no: []string{"prod", "my-prod-db", "prod@cursor"}},
		{exclude: []string{"prod"}, yes: []string{"prods"}, no: []string{"prod", "prod@cursor"}},
		{include: []string{"a*"}, exclude: []string{"ab"}, yes: []string{"a", "ac"}, no: []string{"ab", "b"}},
		{exclude: []string{"*"}, own: []string{"mine"}, yes: []string{"mine"}, no: []string{"other", "mine@cursor"}},
		{include: []string{"io.*"}, yes: []string{"io.github.a/b"}, no: []string{"com.a/b"}},
		{include: []string{"a/*"}, yes: []string{"a/b"}, no: []string{"a"}},
	} {
		s := Servers{Include: tt.include, Exclude: tt.exclude, tenantsOwn: tt.own}
		for _, name := range tt.yes {
			if !s.Selects(Server{Name: name}) {
				t.Errorf("%+v leaves out %q", tt, name)
			}
		}
		for _, name := range tt.no {
			if s.Selects(Server{Name: name}) {
				t.Errorf("%+v takes %q", tt, name)
			}
		}
	}
}

func TestTenantSelects(t *testing.T) {
	c, err := Load(Source{File: writeFile(t, tenantsFile), Flags: map[string]any{"tenant": "work"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"github": true, "github@cursor": true, "tracker": true, "shared": false, "github-prod": false, "prod-db": true, "prod": false,
	} {
		if got := c.Servers.Selects(Server{Name: name}); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestTenantPaths(t *testing.T) {
	p := FindPaths(env("HOME=/h"), "linux")
	if got, want := p.TenantState("work"), "/h/.local/state/codemode/work"; got != want {
		t.Errorf("state %q, want %q", got, want)
	}
	if got, want := p.TenantCache("work"), "/h/.cache/codemode/tenants/work"; got != want {
		t.Errorf("cache %q, want %q", got, want)
	}
	if got := (Paths{}).TenantState("work") + (Paths{}).TenantCache("work"); got != "" {
		t.Errorf("without a home: %q", got)
	}
}
