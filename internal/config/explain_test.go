package config

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// TestLayers gives one key to every layer, and takes them away again from the top.
func TestLayers(t *testing.T) {
	user := writeFile(t, "[sandbox]\npids = 90\n[tenants.work]\nsandbox.pids = 70\n")
	dir := writeProject(t, "\nsandbox.pids = 80\n")
	project := filepath.Join(dir, projectFile)
	all := Source{
		File: user, Dir: dir, Lookup: env("CODEMODE_SANDBOX_PIDS=60", "MCP_BRIDGE_PIDS=50"),
		Flags: map[string]any{"tenant": "work", "sandbox.pids": "40"},
	}
	for _, tt := range []struct {
		without string
		take    func(*Source)
		want    int
		from    Origin
	}{
		{"nothing", func(*Source) {}, 40, Origin{Layer: Flag, Name: "sandbox.pids"}},
		{"the flag", func(s *Source) { s.Flags = map[string]any{"tenant": "work"} }, 60, Origin{Layer: Environment, Name: "CODEMODE_SANDBOX_PIDS"}},
		{"the variable", func(s *Source) { s.Lookup = env("MCP_BRIDGE_PIDS=50") }, 50, Origin{Layer: Environment, Name: "MCP_BRIDGE_PIDS"}},
		{"the older one", func(s *Source) { s.Lookup = nil }, 70, Origin{Layer: Tenant, File: user, Line: 4}},
		{"the tenant", func(s *Source) { s.Flags = nil }, 80, Origin{Layer: Project, File: project, Line: 2}},
		{"the project", func(s *Source) { s.Dir = "" }, 90, Origin{Layer: User, File: user, Line: 2}},
		{"the user's file", func(s *Source) { s.File = "" }, 128, Origin{Layer: Default}},
	} {
		tt.take(&all)
		e, err := Explain(all)
		if err != nil {
			t.Fatalf("without %s: %v", tt.without, err)
		}
		for _, v := range e.Values {
			if v.Name == "sandbox.pids" && (e.Sandbox.Pids != tt.want || v.Value != tt.want || v.Origin != tt.from) {
				t.Errorf("without %s: %d, %+v, want %d from %+v", tt.without, e.Sandbox.Pids, v, tt.want, tt.from)
			}
		}
	}
}

func TestExplainNamesEveryKey(t *testing.T) {
	e, err := Explain(Source{Lookup: env("HOME=/h")})
	if err != nil || len(e.Values) != len(keys) || e.File == "" || e.ProjectFile != "" {
		t.Fatalf("%v: %d values, %q, %q", err, len(e.Values), e.File, e.ProjectFile)
	}
	for i, v := range e.Values {
		if v.Name != keys[i].name || v.Value == nil || v.Origin != (Origin{Layer: Default}) {
			t.Errorf("%+v", v)
		}
	}
}

// TestExplainTheDeadline is about the one setting that can follow another.
func TestExplainTheDeadline(t *testing.T) {
	tooLong := writeProject(t, "# mine\nrun.timeout = '500s'\n")
	for name, tt := range map[string]struct {
		src   Source
		value string
		from  Origin
	}{
		"its own": {Source{Lookup: env("MCP_BRIDGE_TIMEOUT=40")}, "40s", Origin{Layer: Environment, Name: "MCP_BRIDGE_TIMEOUT"}},
		"a project's, limited": {
			Source{Dir: tooLong}, "2m", Origin{Layer: Project, File: filepath.Join(tooLong, projectFile), Line: 2},
		},
		"followed": {Source{Lookup: env("MCP_BRIDGE_MAX_TIMEOUT=10")}, "10s", Origin{Layer: Environment, Name: "MCP_BRIDGE_MAX_TIMEOUT"}},
	} {
		e, err := Explain(tt.src)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range e.Values {
			if v.Name == "run.timeout" && (v.Value != tt.value || v.Origin != tt.from) {
				t.Errorf("%s: %+v, want %s from %+v", name, v, tt.value, tt.from)
			}
		}
	}
}

// TestExplainAnErrorKeepsTheFiles is for those who look for the file that is wrong.
func TestExplainAnErrorKeepsTheFiles(t *testing.T) {
	user := writeFile(t, "run.timeout = 'x'\n[tenants.a]\n")
	dir := writeProject(t, "tenant = 'x'\n")
	e, err := Explain(Source{File: user, Dir: dir})
	if err == nil || e.File != user || e.ProjectFile != filepath.Join(dir, projectFile) || len(e.Tenants) != 2 ||
		len(e.Problems) != 1 {
		t.Errorf("%v: %+v", err, e)
	}
}

func TestExplainServers(t *testing.T) {
	user := writeFile(
		t, "[servers.a]\ncommand = 'a'\n[servers.b]\ncommand = 'b'\n[tenants.work.servers.a]\ncommand = 'work'\n",
	)
	dir := writeProject(t, "[servers.a]\ncommand = 'evil'\n")
	e, err := Explain(Source{File: user, Dir: dir, Flags: map[string]any{"tenant": "work"}})
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		name, command string
		from          Origin
	}
	var got []row
	for _, f := range e.Entries {
		got = append(got, row{f.Server.Name, f.Server.Command, f.Origin})
	}
	want := []row{
		{"a", "work", Origin{Layer: Tenant, File: user, Line: 5}},
		{"a", "evil", Origin{Layer: Project, File: filepath.Join(dir, projectFile), Line: 1}},
		{"b", "b", Origin{Layer: User, File: user, Line: 3}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestWritten(t *testing.T) {
	for _, tt := range []struct{ value, want any }{
		{time.Duration(0), "0"},
		{90 * time.Second, "1m30s"},
		{2 * time.Minute, "2m"},
		{48 * time.Hour, "48h"},
		{1500 * time.Millisecond, "1.5s"},
		{int64(512 << 20), "512m"},
		{int64(1 << 40), "1024g"},
		{int64(1000), "1000"},
		{7, 7},
		{true, true},
		{"x", "x"},
	} {
		if got := written(tt.value); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.value, got, tt.want)
		}
	}
}
