package clientcfg

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"codemode/internal/config"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDiscoverOrder(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	named := write(t, filepath.Join(other, "named.json"), `{"mcpServers": {"a": {"command": "named"}}}`)
	write(t, filepath.Join(dir, "2.json"), `{"mcpServers": {"c": {"command": "second"}, "d": {"command": "second"}}}`)
	write(t, filepath.Join(dir, "1.json"), `{"mcpServers": {"b": {"command": "first"}, "c": {"command": "first"}}}`)
	write(t, filepath.Join(dir, "3.json"), `{`)
	write(t, filepath.Join(dir, "notes.txt"), `{`)
	found := Discover(Options{Servers: config.Servers{
		Files: []string{named, filepath.Join(other, "none.json")},
		Dir:   dir,
		Own: map[string]config.Server{
			"b": {Name: "b", Command: "own", Source: "config.toml"},
			"a": {Name: "a", Command: "own", Source: "config.toml"},
		},
	}})
	var got []string
	for _, s := range found.Servers {
		got = append(got, s.Name+"="+s.Command)
	}
	if want := []string{"a=named", "b=own", "c=first", "d=second"}; !reflect.DeepEqual(got, want) {
		t.Errorf("servers %v, want %v", got, want)
	}
	wantProblems := []string{"none.json\": no such file", "3.json\": line 1, column 2"}
	if len(found.Problems) != len(wantProblems) {
		t.Fatalf("problems %v", found.Problems)
	}
	for _, want := range wantProblems {
		if !hasProblem(found.Problems, want) {
			t.Errorf("no problem says %q in %v", want, found.Problems)
		}
	}
	for _, e := range found.Entries {
		hides := strings.Contains(strings.Join(e.Notes, "\n"), "it hides the one of that name in ")
		if wins := e.Status == Ready && e.Server.Name != "d"; hides != wins {
			t.Errorf("%s, %s, has the notes %q", e.Server.Name, e.Status, e.Notes)
		}
	}
}

// What codemode is told itself is read at once, with its problems, and nothing else before it is judged.
func TestLook(t *testing.T) {
	home := t.TempDir()
	own := filepath.Join(home, "MCPs")
	for _, dir := range []string{own, filepath.Join(home, ".cursor")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(own, "own.json"), `{"mcpServers": {"bad": {}, "good": {"command": "a"}}}`)
	write(t, filepath.Join(home, ".cursor", "mcp.json"), `{`)
	search := Look(Options{
		Env: Env{OS: "linux", Home: home}, Servers: config.Servers{Dir: own}, Sources: []string{"all", "nonesuch"},
	})
	problems := search.OwnProblems()
	if len(problems) != 2 || !hasProblem(problems, `server "bad"`) || !hasProblem(problems, `"nonesuch"`) {
		t.Errorf("problems %v", problems)
	}
	write(t, filepath.Join(home, ".cursor", "mcp.json"), `{"mcpServers": {"late": {"command": "b"}, "odd": {}}}`)
	found := search.Judge()
	if len(found.Servers) != 2 || found.Servers[1].Name != "late" || len(found.Problems) != 3 {
		t.Errorf("found %v with the problems %v", found.Servers, found.Problems)
	}
}

func hasProblem(problems []Problem, text string) bool {
	for _, p := range problems {
		if strings.Contains(p.Error(), text) {
			return true
		}
	}
	return false
}

func TestDiscoverNothing(t *testing.T) {
	found := Discover(Options{Servers: config.Servers{Dir: filepath.Join(t.TempDir(), "none")}})
	if found.Servers != nil || found.Problems != nil || found.Skipped != nil {
		t.Errorf("got %+v", found)
	}
}

func TestServersWithAURL(t *testing.T) {
	found := Discover(Options{Servers: config.Servers{Own: map[string]config.Server{
		"far": {Name: "far", URL: "https://s3cret@x", Source: "config.toml"},
		"off": {Name: "off", URL: "https://s3cret@x", Source: "config.toml", Disabled: true},
	}}})
	if len(found.Servers) != 2 || len(found.Problems) != 0 {
		t.Fatalf("got %v, %v", found.Servers, found.Problems)
	}
	for i, want := range []Status{Ready, Disabled} {
		if e := found.Entries[i]; e.Status != want {
			t.Errorf("%s is %s, want %s", e.Written, e.Status, want)
		}
	}
}

func TestSelfReferences(t *testing.T) {
	finder := newSelfFinder(Env{}, Self{URLs: []string{"http://127.0.0.1:7777/mcp"}})
	for _, tt := range []struct {
		name string
		line string // command and arguments, separated by |
		self bool
	}{
		{"mcp-server-code-execution-mode", "x", true},
		{"x", "codemode", true},
		{"x", "/usr/local/bin/codemode|serve", true},
		{"x", `C:\Tools\codemode.exe|serve`, true},
		{"x", "go|run|./cmd/codemode|serve", true},
		{"x", "uvx|codemode", true},
		{"x", "npx|-y|codemode@latest", true},
		{"x", "env|-u|HOME|A=b|codemode|serve", true},
		{"x", "sh|-c|exec codemode serve", true},
		{"x", "bash|-lc|cd /tmp && A=1 codemode serve 2>>log", true},
		{"x", "sh|-c|codemode serve >&2; true", true},
		{"x", "env|sh|-c|'codemode' serve", true},
		{"x", "docker|run|-i|ghcr.io/someone/codemode|serve", true},
		{"x", "uvx|--from|git+https://github.com/elusznik/mcp-server-code-execution-mode|run", true},
		{"x", "uv|run|--directory|/home/a/x|python|-m|mcp_server_code_execution_mode", true},
		{"x", "python3|/opt/mcp_server_code_execution_mode.py", true},

		{"x", "cmd|/c|codemode.exe|serve", true},
		{"x", "cmd.exe|/d|/s|/c|codemode", true},
		{"x", "wsl.exe|-d|Ubuntu|--|codemode|serve", true},
		{"x", "wsl|codemode", true},
		{"x", "docker|run|--rm|-e|A=b|someone/codemode:latest", true},
		{"x", "npx|mcp-remote|http://localhost:7777/mcp", true},
		{"x", "uv|tool|run|codemode", true},

		{"codemode", "npx|-y|@other/codemode", false},
		{"codemode", "x", false},
		{"x", "codemode-lint", false},
		{"x", "docker|run|--name|codemode|other", false},
		{"x", "npx|mcp-remote|http://localhost:7778/mcp", false},
		{"x", "npx|mcp-remote|https://example.com:7777/mcp", false},
		{"docker", "docker|mcp|gateway|run", false},
		{"files", "npx|-y|@modelcontextprotocol/server-filesystem|/home/a/codemode", false},
		{"x", "codemodel", false},
		{"x", "uvx|--from|codemode-tools|other", false},
		{"x", "sh|-c|echo codemode", false},
		{"x", "sh|script.sh", false},
		{"x", "env", false},
		{"x", "uv|run", false},
	} {
		words := strings.Split(tt.line, "|")
		s := config.Server{Name: tt.name, Command: words[0], Args: words[1:]}
		if reason := finder.reason(s); (reason != "") != tt.self {
			t.Errorf("%s: %s: reason %q, want self %v", tt.name, tt.line, reason, tt.self)
		}
	}
}

func TestSkippedAreListed(t *testing.T) {
	own := map[string]config.Server{
		"me":     {Name: "me", Command: "codemode", Args: []string{"serve"}},
		"docker": {Name: "docker", Command: "docker", Args: []string{"mcp", "gateway", "run"}},
	}
	found := Discover(Options{Servers: config.Servers{Own: own}})
	if len(found.Servers) != 1 || len(found.Skipped) != 1 || found.Skipped[0].Server.Name != "me" ||
		found.Skipped[0].Reason == "" {
		t.Errorf("got %+v", found)
	}
	found = Discover(Options{Servers: config.Servers{Own: own, AllowSelf: true}})
	if len(found.Servers) != 2 || len(found.Skipped) != 0 {
		t.Errorf("allowed, but got %+v", found)
	}
}

func TestNamed(t *testing.T) {
	home := t.TempDir()
	project := filepath.Join(home, "p")
	for _, dir := range []string{".cursor", "p"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(home, ".cursor", "mcp.json"), `{"mcpServers": {"a": {"command": "x"}}}`)
	write(t, filepath.Join(home, ".claude.json"), `{"mcpServers": {"a": {"command": "y"}}}`)
	write(t, filepath.Join(project, ".mcp.json"), `{"mcpServers": {"a": {"command": "z"}, "b": {"command": "z"}}}`)
	found := Discover(Options{Env: Env{OS: "linux", Home: home, WorkDir: project}})
	for name, want := range map[string]string{"a": "y", "a@cursor": "x", "b": "z", "c": ""} {
		var commands []string
		for _, e := range found.Named(name) {
			commands = append(commands, e.Server.Command)
		}
		if got := strings.Join(commands, " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestQualifiedNames: no entry is called as codemode calls those of other files, whether or not there is one now.
func TestQualifiedNames(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, ".claude.json"), `{"mcpServers": {"x@mcps": {"command": "a"},
		"x@Cursor-2": {"command": "b"}, "x@home": {"command": "c"}, "@scope": {"command": "d"}}}`)
	found := Discover(Options{Env: Env{OS: "linux", Home: home}})
	var names []string
	for _, s := range found.Servers {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "@scope x@Cursor-2@claude-code x@home x@mcps@claude-code" {
		t.Errorf("they are called %q", got)
	}
}

// TestProjectsConfig holds that servers of a project's config.toml are asked about like those of its other files.
func TestProjectsConfig(t *testing.T) {
	approvals := loadApprovals(t, filepath.Join(t.TempDir(), "approvals.json"))
	opts := Options{Approvals: approvals, Servers: config.Servers{
		Own: map[string]config.Server{"a": {Name: "a", Command: "mine", Source: "config.toml"}},
		Project: []config.Server{
			{Name: "a", Command: "theirs", Source: "/p/config.toml", Project: "/p"},
			{Name: "b", URL: "https://theirs", Source: "/p/config.toml", Project: "/p"},
		},
	}}
	found := Discover(opts)
	if got := names(
		found.Servers,
	); !reflect.DeepEqual(got, []string{"a"}) || found.Entries[1].Status != Shadowed ||
		found.Entries[2].Status != NeedsApproval || len(found.Problems) != 0 {
		t.Fatalf("got %v, %+v, %v", got, found.Entries, found.Problems)
	}
	for _, e := range found.Entries[1:] {
		if err := approvals.Approve(e); err != nil {
			t.Fatal(err)
		}
	}
	found = Discover(opts)
	if got := names(found.Servers); !reflect.DeepEqual(got, []string{"a", "b"}) || found.Servers[0].Command != "mine" ||
		found.Entries[1].Status != Shadowed {
		t.Errorf("approved: got %v, %+v", got, found.Entries)
	}
}

// TestChangedEntryAsksAgain is the life of a project's entry.
func TestChangedEntryAsksAgain(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	file := filepath.Join(project, ".mcp.json")
	approvals := loadApprovals(t, filepath.Join(home, "approvals.json"))
	opts := Options{Env: Env{OS: "linux", Home: home, WorkDir: project}, Approvals: approvals}
	look := func(command string) Entry {
		write(t, file, `{"mcpServers": {"a": {"command": "`+command+`"}}}`)
		found := Discover(opts)
		if usable := len(found.Servers) == 1; usable != (found.Entries[0].Status == Ready) {
			t.Errorf("%s is %s, and to be used: %v", command, found.Entries[0].Status, usable)
		}
		return found.Entries[0]
	}
	if e := look("x"); e.Status != NeedsApproval || e.Reason != "it came with the project" {
		t.Errorf("first: %s, %s", e.Status, e.Reason)
	} else if err := approvals.Approve(e); err != nil {
		t.Fatal(err)
	}
	if e := look("x"); e.Status != Ready {
		t.Errorf("approved: %s, %s", e.Status, e.Reason)
	}
	if e := look("y"); e.Status != NeedsApproval || e.Reason != "it has changed since it was approved" {
		t.Errorf("changed: %s, %s", e.Status, e.Reason)
	}
	e := look("x")
	if e.Status != Ready {
		t.Errorf("as it was again: %s, %s", e.Status, e.Reason)
	}
	if err := approvals.Revoke(e); err != nil {
		t.Fatal(err)
	}
	if e := look("x"); e.Status != NeedsApproval {
		t.Errorf("revoked: %s, %s", e.Status, e.Reason)
	}
}

// TestOneServerWithReferences: what a reference to a variable or a folder stands for is as if it were written out, so
// rules by either name hold. Another value is another server, and so is a secret.
func TestOneServerWithReferences(t *testing.T) {
	home := t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(home, ".cursor"), 0o700), os.Mkdir(filepath.Join(home, "MCPs"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".cursor", "mcp.json"), `{"mcpServers": {
		"prod": {"command": "x", "args": ["${env:FOLDER}/d", "${userHome}"], "env": {"TOKEN": "${env:TOKEN}"}},
		"far": {"url": "https://${env:HOST}/mcp"},
		"secret": {"command": "y", "env": {"TOKEN": "t"}}
	}}`)
	lookup := func(name string) (string, bool) {
		value, ok := map[string]string{"FOLDER": "/f", "TOKEN": "t", "HOST": "far.example"}[name]
		return value, ok
	}
	opts := Options{
		Env:     Env{OS: "linux", Home: home, Lookup: lookup},
		Servers: config.Servers{Dir: filepath.Join(home, "MCPs")},
		Secret:  func(string) (string, error) { return "t", nil },
	}
	for token, want := range map[string]string{
		"t": "o=[prod prod@cursor] p=[far far@cursor] q=[] secret=[]",
		"u": "o=[] p=[far far@cursor] prod=[] q=[] secret=[]",
	} {
		own, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
			"o": map[string]any{"command": "x", "args": []string{"/f/d", home}, "env": map[string]string{"TOKEN": token}},
			"p": map[string]any{"url": "https://far.example/mcp"},
			"q": map[string]any{"command": "y", "env": map[string]string{"TOKEN": "${secret:k}"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(home, "MCPs", "own.json"), string(own))
		var got []string
		for _, s := range Discover(opts).Servers {
			if !slices.Contains(s.Also, s.Name+"@cursor") && !slices.Contains(s.Also, s.Name+"@mcps") {
				t.Errorf("a rule by the name and file of %q does not hold: %q", s.Name, s.Also)
			}
			also := slices.DeleteFunc(slices.Clone(s.Also), func(name string) bool {
				return name == s.Name+"@cursor" || name == s.Name+"@mcps"
			})
			got = append(got, fmt.Sprintf("%s=%v", s.Name, also))
		}
		slices.Sort(got)
		if got := strings.Join(got, " "); got != want {
			t.Errorf("with %s: %s, want %s", token, got, want)
		}
	}
}

// TestOneServerByTwoNames: what the user says of a server goes on to hold when another file has it by another name.
func TestOneServerByTwoNames(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".cursor", "mcp.json"),
		`{"mcpServers": {"tracker": {"command": "x"}, "other": {"command": "y"}, "taken": {"command": "z"}}}`)
	servers := config.Servers{Sandbox: []string{"tracker"}, Exclude: []string{"taken"}}
	opts := Options{Env: Env{OS: "linux", Home: home}, Servers: servers}
	for _, claude := range []string{
		`{}`,
		`{"mcpServers": {
			"trk": {"command": "x"}, "other": {"command": "y"}, "zed": {"command": "z"}, "taken": {"command": "w"}
		}}`,
	} {
		write(t, filepath.Join(home, ".claude.json"), claude)
		got := map[string]config.Server{}
		for _, s := range Discover(opts).Servers {
			if s.Command == "w" {
				continue // another one, by the name of the one that is excluded
			}
			got[s.Command] = s
			if excluded := s.Command == "z"; servers.Selects(s) == excluded {
				t.Errorf("%s: %s, also %q, is selected: %t", claude, s.Name, s.Also, excluded)
			}
			if restricted := s.Command == "x"; (s.Sandbox != nil) != restricted {
				t.Errorf("%s: %s, also %q, is in a sandbox: %t", claude, s.Name, s.Also, !restricted)
			}
		}
		if claude == "{}" {
			continue
		}
		for command, want := range map[string]config.Server{
			"x": {Name: "trk", Also: []string{"trk@claude-code", "tracker", "tracker@cursor"}},
			"y": {Name: "other", Also: []string{"other@claude-code", "other@cursor"}},
			"z": {Name: "zed", Also: []string{"zed@claude-code", "taken@cursor"}},
		} {
			if s := got[command]; s.Name != want.Name || strings.Join(s.Also, " ") != strings.Join(want.Also, " ") {
				t.Errorf("%s is %q, also %q", command, s.Name, s.Also)
			}
		}
	}
}

// TestQualifiedHolds: a rule by the name that tells a client's server from another of its name goes on to hold where
// there is no other. What is forbidden by it is to a project's server, too, and what is allowed is not.
func TestQualifiedHolds(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	for _, dir := range []string{home, project} {
		if err := os.Mkdir(filepath.Join(dir, ".cursor"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(home, ".cursor", "mcp.json"), `{"mcpServers": {"m": {"command": "x"}}}`)
	write(t, filepath.Join(project, ".cursor", "mcp.json"), `{"mcpServers": {"p": {"command": "y"}}}`)
	approvals := loadApprovals(t, filepath.Join(home, "approvals.json"))
	opts := Options{Env: Env{OS: "linux", Home: home, WorkDir: project}, Approvals: approvals}
	for _, e := range Discover(opts).Entries {
		if e.Status == NeedsApproval {
			if err := approvals.Approve(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	names := []string{"m@cursor", "p@cursor"}
	found := Discover(opts).Servers
	if len(found) != 2 {
		t.Fatalf("there are %+v", found)
	}
	for _, s := range found {
		if (config.Servers{Exclude: names}).Selects(s) {
			t.Errorf("%s, %q, is not excluded", s.Name, s.Names())
		}
		if (config.Servers{Sandbox: names}).RestrictionsOf(s) == nil {
			t.Errorf("%s, %q, is in no sandbox", s.Name, s.Names())
		}
		if got, want := (config.Servers{Include: names}).Selects(s), s.Name == "m"; got != want {
			t.Errorf("%s, %q, is included: %t, want %t", s.Name, s.Names(), got, want)
		}
	}
}

// TestSandboxOfAClient: what another program's file says of a sandbox widens none that the user has asked for.
func TestSandboxOfAClient(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, ".claude.json"),
		`{"mcpServers": {"wide": {
			"command": "x", "sandbox": "native", "sandbox_network": true, "sandbox_write": ["/x"]
		}}}`)
	for _, named := range [][]string{nil, {"w*"}} {
		found := Discover(Options{Env: Env{OS: "linux", Home: home}, Servers: config.Servers{Sandbox: named}})
		got := found.Servers[0].Sandbox
		if got == nil || got.Network != (named == nil) || len(got.Write) > 0 != (named == nil) {
			t.Errorf("with mcp.sandbox = %q it may use %+v", named, got)
		}
	}
}

// TestPodOfAProject: where a project's servers start if nothing is said is no folder that its entry names for a pod.
func TestPodOfAProject(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for cwd, want := range map[string]Status{"": NeedsApproval, `, "cwd": "/srv"`: Invalid} {
		write(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"x": {"command": "x", "sandbox": "kubernetes",
			"sandbox_image": "i", "sandbox_network": true`+cwd+`}}}`)
		found := Discover(Options{Env: Env{OS: "linux", Home: t.TempDir(), WorkDir: dir}})
		if len(found.Entries) != 1 || found.Entries[0].Status != want {
			t.Errorf("with %q: %+v", cwd, found.Entries)
		}
	}
}
