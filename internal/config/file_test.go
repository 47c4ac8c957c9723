package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestFileServers(t *testing.T) {
	file := writeFile(t, `
[servers.memory]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-memory"]
env = { TOKEN = "${TOKEN}", PORT = 3000 }

[servers."my-server"]
url = "https://example.com/mcp"
headers.Authorization = "Bearer ${KEY}"
disabled = true
`)
	c, err := Load(Source{File: file})
	want := map[string]Server{
		"memory": {
			Name: "memory", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-memory"},
			Env: map[string]string{"TOKEN": "${TOKEN}", "PORT": "3000"}, Source: file, Line: 2,
		},
		"my-server": {
			Name: "my-server", URL: "https://example.com/mcp", Disabled: true,
			Headers: map[string]string{"Authorization": "Bearer ${KEY}"}, Source: file, Line: 7,
		},
	}
	if err != nil || !reflect.DeepEqual(c.Servers.Own, want) {
		t.Errorf("got  %v, %v\nwant %v", c.Servers.Own, err, want)
	}
}

func TestFileProblems(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"syntax":        {"[run]\ntimeout = = 3\n", "line 2, column 11: "},
		"unknown key":   {"[run]\n\ntimout = 3\n", `line 3, column 1: unknown key "run.timout"`},
		"unknown table": {"\n[sandbx]\nmemory = 3\n", `line 2, column 2: unknown key "sandbx"`},
		"top level":     {"memory = 3\n", `line 1, column 1: unknown key "memory"`},
		"inline":        {"sandbox = { pids = 3,  memori = 4 }\n", `line 1, column 24: unknown key "sandbox.memori"`},
		"server field":  {"[servers.a]\ncommand = 'a'\ncomand = 'b'\n", `line 3, column 1: unknown key "servers.a.comand"`},
		"server type":   {"[servers.a]\ncommand = 'a'\nargs = 'b'\n", `line 3, column 1: server "a": "args" must be a list of texts`},
		"server empty":  {"\n[servers.a]\n", `line 2, column 10: server "a" has neither "command" nor "url"`},
		"server scalar": {"[servers]\na = 1\n", `line 2, column 1: server "a" is not a table`},
		"bad value":     {"[sandbox]\n\nmemory = true\n", `:3:1: sandbox.memory "true" cannot be used: write bytes`},
		"wrong shape":   {"[sandbox.memory]\nx = 1\n", `:1:10: sandbox.memory "a table" cannot be used`},
		"no table":      {"run = 3\n", `line 1, column 1: "run" is not a table`},
		"nested key":    {"[sandbox.podman]\nmachin = 'off'\n", `line 2, column 1: unknown key "sandbox.podman.machin"`},
		"nested value":  {"[sandbox.podman]\nmachine = 'on'\n", `:2:1: sandbox.podman.machine "on" cannot be used: write off or manage`},
		"elsewhere":     {"[sandbox]\ntimeout = 3\n", `line 2, column 1: unknown key "sandbox.timeout"`},
		"dots in names": {"[servers.'a.b']\ncommand = 'a'\n[servers.a]\nb = { command = 1 }\n", `line 4, column 1: unknown key "servers.a.b"`},
		"item":          {"[policy]\ndeny = ['a.b', 'nodot']\n", `:2:1: policy.deny "nodot" cannot be used: write patterns`},
		"empty item":    {"[policy]\ndeny = ['a.b', '']\n", `:2:1: policy.deny "" cannot be used: write patterns`},
		"servers":       {"servers = 3\n", `line 1, column 1: "servers" is not a table of servers`},
		"wrong type":    {"[sandbox]\nimage = 3\n", `:2:1: sandbox.image "3" cannot be used: write text in quotes`},
		"twice":         {"[run]\ngrace = 1\ngrace = 2\n", `line 3, column 1: `},
		"from Windows":  {"\ufeff[run]\r\n\r\n  timout = 3\r\n", `line 3, column 3: unknown key "run.timout"`},
		"list for one":  {"[sandbox]\nmemory = [1]\n", `:2:1: sandbox.memory "[1]" cannot be used`},
	} {
		file := writeFile(t, tt.text)
		_, err := Load(Source{File: file})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v\nwant it to name the file and say %s", name, err, tt.want)
		}
	}
}

func TestUnknownKeyKnowsItsNeighbours(t *testing.T) {
	_, err := Load(Source{File: writeFile(t, "[run]\ntimout = 3\n")})
	var unknown *UnknownKeyError
	if !errors.As(err, &unknown) {
		t.Fatalf("got %v", err)
	}
	if want := []string{"run.timeout", "run.max_timeout", "run.grace"}; !reflect.DeepEqual(unknown.Known, want) {
		t.Errorf("got %v, want %v", unknown.Known, want)
	}
}

func TestErrorsKeepSecrets(t *testing.T) {
	_, err := Load(Source{File: writeFile(t, "[servers.a]\ncommand = ['s3cret']\nenv = { K = ['s3cret'] }\n")})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
	_, err = Load(Source{
		File: writeFile(t, "[tenants.b.servers.a]\nurl = 's3cret'\nheaders = 's3cret'\n"),
		Dir:  writeProject(t, "[servers.a]\ncommand = 'a'\nenv = { K = ['s3cret'] }\n"),
	})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
	for _, index := range []string{
		"http://u:s3cret@x/", "https://u@x/?token=s3cret", "https://x/#s3cret", "//x?s3cret\ns3cret",
	} {
		_, err = Load(Source{Lookup: env("CODEMODE_PACKAGES_INDEX=" + index)})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("of %q: %v", index, err)
		}
	}
	s := Server{
		Name: "a", Source: "f", Args: []string{"s3cret"}, Env: map[string]string{"K": "s3cret"},
		URL: "https://u:s3cret@x",
	}
	if text := s.String() + s.LogValue().String(); strings.Contains(text, "s3cret") {
		t.Errorf("a server shows a secret: %s", text)
	}
}

func TestWhichFile(t *testing.T) {
	file := writeFile(t, "[sandbox]\npids = 15\n")
	dir, base := filepath.Split(file)
	for name, src := range map[string]Source{
		"--config":        {File: file},
		"relative":        {File: base, Dir: dir},
		"CODEMODE_CONFIG": {Lookup: env("CODEMODE_CONFIG=" + file)},
	} {
		if c, err := Load(src); err != nil || c.Sandbox.Pids != 15 {
			t.Errorf("%s: got %v, %v", name, c.Sandbox.Pids, err)
		}
	}
	missing := filepath.Join(dir, "none.toml")
	if _, err := Load(Source{File: missing}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a named file that is missing: %v", err)
	}
	if _, err := Load(Source{Lookup: env("XDG_CONFIG_HOME=" + dir)}); err != nil {
		t.Errorf("no config.toml in the usual place: %v", err)
	}
}

func TestPaths(t *testing.T) {
	for _, tt := range []struct {
		goos string
		env  []string
		want Paths
	}{
		{"linux", []string{"HOME=/h"}, Paths{"/h", "/h/.config/codemode", "/h/.cache/codemode", "/h/.local/state/codemode"}},
		{"linux", []string{"HOME=/h", "XDG_CACHE_HOME=/c", "XDG_STATE_HOME=rel"}, Paths{"/h", "/h/.config/codemode", "/c/codemode", "/h/.local/state/codemode"}},
		{"linux", nil, Paths{}},
		{"linux", []string{"HOME=rel", "XDG_CONFIG_HOME=rel"}, Paths{}},
		{"darwin", []string{"HOME=/h"}, Paths{"/h", "/h/Library/Application Support/codemode", "/h/Library/Caches/codemode", "/h/Library/Application Support/codemode/state"}},
		{"windows", []string{"USERPROFILE=/u", "APPDATA=/r", "LOCALAPPDATA=/l"}, Paths{"/u", "/r/codemode", "/l/codemode/cache", "/l/codemode/state"}},
	} {
		if got := FindPaths(env(tt.env...), tt.goos); got != tt.want {
			t.Errorf("%s %v:\n got %+v\nwant %+v", tt.goos, tt.env, got, tt.want)
		}
	}
}

func TestDocsNameEveryKey(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Docs() {
		if d.Text == "" || d.Forms == "" || seen[d.Name] {
			t.Errorf("%q has no text, no forms, or is there twice", d.Name)
		}
		seen[d.Name] = true
		if !strings.HasPrefix(d.Variables[0], "CODEMODE_") {
			t.Errorf("%q has no variable of its own: %v", d.Name, d.Variables)
		}
	}
}

// TestFileServerFields has all that a table of a server can say, as other programs' entries can.
func TestFileServerFields(t *testing.T) {
	file := writeFile(t, `[servers.a]
type = "stdio"
command = "x"
cwd = "sub"
env_file = "a.env"
include_tools = ["one", "two"]
exclude_tools = ["three"]
start_timeout = "90s"
call_timeout = 10
description = "what it is for"
[servers.b]
type = "sse"
url = "https://x/sse"
cwd = "~/x"
`)
	dir := filepath.Dir(file)
	c, err := Load(Source{File: file})
	want := map[string]Server{
		"a": {
			Name:      "a",
			Command:   "x",
			Transport: Stdio,
			Cwd:       filepath.Join(dir, "sub"),
			EnvFile:   filepath.Join(dir, "a.env"),
			ToolsAllow: []string{
				"one", "two",
			},
			ToolsDeny:   []string{"three"},
			StartTime:   90 * time.Second,
			CallTime:    10 * time.Second,
			Description: "what it is for",
			Source:      file,
			Line:        1,
		},
		"b": {Name: "b", URL: "https://x/sse", Transport: SSE, Cwd: "~/x", Source: file, Line: 11},
	}
	if err != nil || !reflect.DeepEqual(c.Servers.Own, want) {
		t.Errorf("got  %+v, %v\nwant %+v", c.Servers.Own, err, want)
	}
	for text, want := range map[string]string{
		"[servers.a]\ntype = 'smoke'\ncommand = 'x'":      `"type" must be one of stdio, http, sse`,
		"[servers.a]\ntype = 'http'\ncommand = 'x'":       `server "a" has no "url", which its "type" needs`,
		"[servers.a]\ntype = 'stdio'\nurl = 'http://x'":   `server "a" has no "command", which its "type" needs`,
		"[servers.a]\ncommand = 'x'\ncall_timeout = 0":    `line 3, column 1: server "a": "call_timeout" must be a time above 0`,
		"[servers.a]\ncommand = 'x'\ninclude_tools = 'y'": `"include_tools" must be a list of texts`,
	} {
		if _, err := Load(Source{File: writeFile(t, text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzFile holds that the user's file, whatever is in it, is read or refused with the places of its mistakes, and that
// what is read is within the bounds that the rest of codemode relies on.
func FuzzFile(f *testing.F) {
	f.Add(tenantsFile)
	f.Add(Sample())
	f.Add(
		"[servers.'']\ncommand = ''\n[servers.a]\nurl = 'x'\nenv = { A = 1e400 }\n[tenants.x.policy]\nallow = ['[', '**']\n",
	)
	f.Add(
		"run.timeout = '9223372036854775807h'\nsandbox.cpus = -inf\npolicy = { confirm = ['destructive', ''], calls_per_run = -1 }",
	)
	name := filepath.Join(f.TempDir(), "config.toml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Source{File: name})
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				if line := lineOf(e); line < 0 || line > strings.Count(text, "\n")+1 {
					t.Errorf("%v is on line %d", e, line)
				}
			}
			return
		}
		if c.Sandbox.Memory <= 0 || c.Sandbox.Pids <= 0 || c.Run.Timeout <= 0 || c.Run.Timeout > c.Run.MaxTimeout ||
			c.Output.Limit <= 0 {
			t.Errorf("%+v", c)
		}
	})
}
