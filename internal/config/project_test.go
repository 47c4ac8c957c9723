package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// writeProject makes a project with a repository and a file of that text, and returns its folder.
func writeProject(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{".git", ".codemode", "sub/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, projectFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestProjectMay is the whole of what a stranger's file can do.
func TestProjectMay(t *testing.T) {
	dir := writeProject(t, `
run = { timeout = 20, max_timeout = "60s", grace = 1 }
output = { mode = "json", limit = "1k", keep = "1m" }
sandbox = { memory = "256m", pids = 64, tmp_size = "1m", work_size = "1m", pool = 0, idle_timeout = "1m" }
exec.timeout = 60
mcp = { start_timeout = 1, call_timeout = 1 }
`)
	c, err := Load(Source{Dir: dir})
	if err != nil || len(c.Problems) > 0 {
		t.Fatalf("got %v, %v", err, c.Problems)
	}
	got := []any{
		c.Run, c.Output, c.Sandbox.Memory, c.Sandbox.Pids, c.Sandbox.Pool, c.Sandbox.IdleTimeout,
		c.Exec.Timeout, c.Servers.CallTimeout,
	}
	want := []any{
		Run{20 * time.Second, time.Minute, time.Second},
		Output{Mode: "json", Limit: 1 << 10, Keep: 1 << 20},
		int64(256 << 20), 64, 0, time.Minute,
		time.Minute, time.Second,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestProjectAsks: what a project asks for is told apart from what its user has said, whose no it does not undo.
func TestProjectAsks(t *testing.T) {
	dir := writeProject(t, "\nfiles.project = true\n")
	c, err := Load(Source{Dir: dir})
	want := Request{Folder: dir, File: filepath.Join(dir, ".codemode", "config.toml"), Line: 2}
	if err != nil || len(c.Problems) > 0 || c.Files.Project || c.Files.Request != want {
		t.Errorf("asked for is %+v, %v", c.Files, err)
	}
	c, err = Load(Source{Dir: writeProject(t, "files.project = false\n"), File: writeFile(t, "files.project = true\n")})
	if err != nil || !c.Files.Project || c.Files.Request != (Request{}) {
		t.Errorf("the user's own word is %+v, %v", c.Files, err)
	}
}

// TestProjectMayNot tries every key of the table with a value that is not its default: what remains is that nothing
// but what is harmless has changed, and a problem for everything else.
func TestProjectMayNot(t *testing.T) {
	// What is looser than the default, or another, as TOML; a key that is not here has no way to be loosened.
	values := map[string]string{
		"tenant":                 `"work"`,
		"sandbox.runtime":        `"./evil"`,
		"sandbox.order":          `["docker"]`,
		"sandbox.isolation":      `"reduced"`,
		"sandbox.python":         `"./python"`,
		"sandbox.allow_gaps":     `["memory"]`,
		"sandbox.memory":         `"1t"`,
		"sandbox.pids":           `9999`,
		"sandbox.cpus":           `64`,
		"sandbox.tmp_size":       `"1t"`,
		"sandbox.work_size":      `"1t"`,
		"sandbox.image":          `"evil"`,
		"sandbox.pull":           `"missing"`,
		"sandbox.user":           `"0:0"`,
		"sandbox.podman.machine": `"manage"`,

		"sandbox.kubernetes.context": `"x"`, "sandbox.kubernetes.namespace": `"x"`,
		"sandbox.kubernetes.runtime_class": `"x"`,
		"sandbox.kubernetes.node_selector": `["a=b"]`, "sandbox.kubernetes.requests": `["cpu=1"]`,
		"sandbox.kubernetes.template": `"x"`, "sandbox.kubernetes.warm_pool": `"x"`,
		"sandbox.pool":            `99`,
		"sandbox.idle_timeout":    `0`,
		"run.max_timeout":         `"9h"`,
		"run.grace":               `"9h"`,
		"exec.timeout":            `"9h"`,
		"output.limit":            `"1t"`,
		"output.keep":             `"1t"`,
		"output.structured":       `true`,
		"instructions.servers":    `true`,
		"mcp.files":               `["evil.json"]`,
		"mcp.dir":                 `"."`,
		"mcp.include":             `["x"]`,
		"mcp.exclude":             `["x"]`,
		"mcp.sandbox":             `["x"]`, // what a server writes there is gone with it
		"mcp.allow_self":          `true`,
		"mcp.start_timeout":       `"9h"`,
		"mcp.call_timeout":        `"9h"`,
		"discovery.sources":       `["none"]`,
		"catalog.max_age":         `0`,
		"log.level":               `"debug"`,
		"tools.save":              `true`,
		"audit.max_size":          `"1t"`,
		"audit.keep":              `0`,
		"audit.arguments":         `"full"`,
		"audit.required":          `true`,
		"secrets.store":           `"file"`,
		"log.format":              `"json"`,
		"repl.history":            `true`,
		"registry.address":        `"https://evil.example"`,
		"packages.index":          `"https://evil.example/simple"`,
		"packages.cooldown":       `"0"`,
		"release.address":         `"https://evil.example"`,
		"disk.max_size":           `"1t"`,
		"files.mounts":            `["."]`,
		"files.roots":             `true`,
		"expose":                  `["a.b"]`,
		"policy.allow":            `["a.b"]`,
		"policy.approved":         `["a.b"]`,
		"policy.confirm_timeout":  `"9h"`,
		"policy.questions":        `11`,
		"policy.calls_per_run":    `0`,
		"policy.calls_per_minute": `0`,
		"policy.concurrency":      `0`,
		"policy.max_arguments":    `"1t"`,
		"policy.max_result":       `"1t"`,
	}
	// The user's own limits, where the default is none.
	user := writeFile(t, "sandbox.cpus = 2\nexec.timeout = '1h'\ntools.save = false\nrepl.history = false\n"+
		"instructions.servers = false\n"+
		"policy = { calls_per_run = 9, calls_per_minute = 9, concurrency = 9 }\n[servers.mine]\ncommand = 'mine'\n")
	want, err := Load(Source{File: user})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		value, ok := values[k.name]
		if k.trust == freely || k.trust == extend || k.trust == asks {
			if ok {
				t.Errorf("%s cannot be loosened", k.name)
			}
			continue
		}
		if !ok {
			t.Errorf("%s: this test does not know it", k.name)
			continue
		}
		dir := writeProject(t, "\n"+k.name+" = "+value+"\n")
		c, err := Load(Source{Dir: dir, File: user})
		var refused *ProjectError
		if err != nil || len(c.Problems) != 1 || !errors.As(c.Problems[0], &refused) || refused.Line != 2 ||
			refused.Key != k.name {
			t.Errorf("%s: %v, problems %v", k.name, err, c.Problems)
		}
		c.Problems = nil
		if !reflect.DeepEqual(c, want) {
			t.Errorf("%s: the file had an effect\n got %+v\nwant %+v", k.name, c, want)
		}
	}
}

func TestProjectWords(t *testing.T) {
	dir := writeProject(
		t,
		"sandbox.memory = '1g'\nsandbox.python = 'x'\n[tenants.work]\nrun.timeout = 1\n[run]\ntimout = 1\ngrace = 'x'\n",
	)
	c, err := Load(Source{Dir: dir})
	file := filepath.Join(dir, projectFile)
	want := []string{
		`reading "` + file + `": line 1, column 9: "sandbox.memory" is not applied: a file that comes with a project ` +
			`may only lower it, and it is 512m`,
		`reading "` + file + `": line 2, column 9: "sandbox.python" is not applied: a file that comes with a ` +
			`project may not set it`,
		`reading "` + file + `": line 3, column 10: "tenants.work" is not applied: a file that comes with a ` +
			`project may not set it`,
		`reading "` + file + `": line 6, column 1: unknown key "run.timout"`,
		file + `:7:1: run.grace "x" cannot be used: write 30, 30s or 2m`,
	}
	if err != nil {
		t.Fatalf("a stranger's mistakes are an error: %v", err)
	}
	got := []string{}
	for _, p := range c.Problems {
		got = append(got, p.Error())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestProjectServers holds that a project's servers are kept apart from the user's, with the project they are of.
func TestProjectServers(t *testing.T) {
	dir := writeProject(
		t, "[servers.mine]\ncommand = 'evil'\n[servers.a]\ncommand = 'a'\n[servers.bad]\nargs = 's3cret'\n",
	)
	c, err := Load(Source{Dir: dir, File: writeFile(t, "[servers.mine]\ncommand = 'mine'\n")})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Servers.Own) != 1 || c.Servers.Own["mine"].Command != "mine" || c.Servers.Own["mine"].Project != "" {
		t.Errorf("the user's: %+v", c.Servers.Own)
	}
	file := filepath.Join(dir, projectFile)
	want := []Server{
		{Name: "a", Command: "a", Cwd: dir, Source: file, Line: 3, Project: dir},
		{Name: "mine", Command: "evil", Cwd: dir, Source: file, Line: 1, Project: dir},
	}
	if !reflect.DeepEqual(c.Servers.Project, want) {
		t.Errorf("the project's\n got %+v\nwant %+v", c.Servers.Project, want)
	}
	if len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Error(), `line 6, column 1: server "bad"`) {
		t.Errorf("problems: %v", c.Problems)
	}
}

// TestProjectAddsToPolicy holds that a project takes away what it likes, gives nothing, and is told apart.
func TestProjectAddsToPolicy(t *testing.T) {
	dir := writeProject(t, "\npolicy.deny = ['x.*']\n")
	c, err := Load(Source{Dir: dir, File: writeFile(t, "policy.deny = ['a.b', 'readonly']\n")})
	if err != nil || len(c.Problems) > 0 {
		t.Fatal(err, c.Problems)
	}
	if want := []string{"x.*", "a.b", "readonly"}; !slices.Equal(c.Policy.Deny, want) {
		t.Errorf("got %v, want %v", c.Policy.Deny, want)
	}
	for rule, want := range map[string]string{
		"deny:x.*": "the project's config.toml, line 2", "deny:a.b": "config.toml, line 1",
	} {
		if got := c.Policy.Places[rule]; got != want {
			t.Errorf("%s is set in %q, want %q", rule, got, want)
		}
	}
}

// TestProjectAddsNothing holds that a rule is where its user has it when a project has nothing else.
func TestProjectAddsNothing(t *testing.T) {
	user := writeFile(t, "policy.deny = ['a.b']\n")
	for list, want := range map[string]Layer{"[]": User, "['a.b']": User, "['a.b', 'x.*']": Project} {
		dir := writeProject(t, "\npolicy.deny = "+list+"\n")
		e, err := Explain(Source{Dir: dir, File: user})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range e.Values {
			if v.Name == "policy.deny" && v.Origin.Layer != want {
				t.Errorf("with %s of the project %v is from %+v, want %v", list, v.Value, v.Origin, want)
			}
		}
	}
}

func TestWhichProject(t *testing.T) {
	dir := writeProject(t, "sandbox.pids = 15\n")
	pids := func(src Source) int {
		t.Helper()
		c, err := Load(src)
		if err != nil || len(c.Problems) > 0 {
			t.Fatalf("%+v: %v, %v", src, err, c.Problems)
		}
		return c.Sandbox.Pids
	}
	if got := pids(Source{Dir: filepath.Join(dir, "sub", "deep")}); got != 15 {
		t.Errorf("below the repository's top: %d", got)
	}
	if got := pids(Source{Dir: filepath.Join(dir, "sub"), Lookup: env("HOME=" + dir)}); got != 128 {
		t.Errorf("the home is no project: %d", got)
	}
	if got := pids(Source{Dir: dir, Lookup: env("HOME=" + filepath.Join(dir, "sub", "deep"))}); got != 128 {
		t.Errorf("nor is what is above it: %d", got)
	}
	// Whoever names it makes it theirs, with all that they may say.
	if got := pids(Source{Dir: dir, File: projectFile, Lookup: env("CODEMODE_SANDBOX_MEMORY=1g")}); got != 15 {
		t.Errorf("named: %d", got)
	}
	if err := os.Remove(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if got := pids(Source{Dir: filepath.Join(dir, "sub")}); got != 128 {
		t.Errorf("above, without a repository: %d", got)
	}
	if got := pids(Source{Dir: dir}); got != 15 {
		t.Errorf("here, without a repository: %d", got)
	}
	// The innermost counts.
	inner := filepath.Join(dir, "sub", ".codemode")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, ".git"), 0o700), os.Mkdir(inner, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inner, "config.toml"), []byte("sandbox.pids = 16"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := pids(Source{Dir: filepath.Join(dir, "sub", "deep")}); got != 16 {
		t.Errorf("two files: %d", got)
	}
}

// TestProjectFileIsNotFollowed is about what a clone may hold in the file's place.
func TestProjectFileIsNotFollowed(t *testing.T) {
	outside := writeFile(t, "sandbox.pids = 15\n")
	places := map[string]func(file string) error{
		"a link out":  func(file string) error { return os.Symlink(outside, file) },
		"a directory": func(file string) error { return os.Mkdir(file, 0o700) },
		"too large":   func(file string) error { return os.WriteFile(file, make([]byte, maxProject+1), 0o600) },
		"no TOML":     func(file string) error { return os.WriteFile(file, []byte("= 1"), 0o600) },
		"a pipe":      makePipe,
	}
	words := map[string]string{
		"a link out":  "it leads out of the project, where it is not followed",
		"a directory": "it is a directory", "too large": "it is larger than 64 KiB",
		"no TOML": "line 1, column 1", "a pipe": "it is not a regular file",
	}
	for name, place := range places {
		dir := writeProject(t, "")
		file := filepath.Join(dir, projectFile)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := place(file); err != nil {
			if errors.Is(err, errors.ErrUnsupported) {
				continue
			}
			t.Fatal(err)
		}
		c, err := Load(Source{Dir: dir})
		if err != nil || len(c.Problems) != 1 || c.Sandbox.Pids != 128 ||
			!strings.Contains(c.Problems[0].Error(), file) || !strings.Contains(c.Problems[0].Error(), words[name]) {
			t.Errorf("%s: %v, problems %v, pids %d", name, err, c.Problems, c.Sandbox.Pids)
		}
	}
}

// TestProjectAndDeadlines holds that a project's file cannot make the user's settings contradict themselves.
func TestProjectAndDeadlines(t *testing.T) {
	for name, tt := range map[string]struct {
		project, user string
		want          time.Duration
		problems      int
	}{
		"a lower ceiling than the default deadline":    {"run.max_timeout = 10", "", 10 * time.Second, 0},
		"a lower ceiling than the user's own deadline": {"run.max_timeout = 10", "run.timeout = 20", 10 * time.Second, 0},
		"a deadline above the ceiling":                 {"run.timeout = '1h'", "", 2 * time.Minute, 1},
	} {
		c, err := Load(Source{Dir: writeProject(t, tt.project), File: writeFile(t, tt.user)})
		if err != nil || c.Run.Timeout != tt.want || len(c.Problems) != tt.problems {
			t.Errorf("%s: %v, %v, %v", name, c.Run.Timeout, err, c.Problems)
		}
	}
}

// TestProjectProblemsAreBounded is about a file that is nothing but mistakes.
func TestProjectProblemsAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "%s%d = 1\n", strings.Repeat("x", 40), i)
	}
	c, err := Load(Source{Dir: writeProject(t, text.String())})
	if err != nil || len(c.Problems) != maxProblems+1 ||
		!strings.Contains(c.Problems[maxProblems].Error(), "980 more mistakes") {
		t.Errorf("%v: %d problems", err, len(c.Problems))
	}
	c, err = Load(Source{Dir: writeProject(t, strings.Repeat("x", maxProject-10)+" = 1\n")})
	if err != nil || len(c.Problems) != 1 || len(c.Problems[0].Error()) > 1000 {
		t.Errorf("%v: a name of %d bytes makes a message as long", err, maxProject)
	}
}

// FuzzProject holds that no file makes the reader panic, that every mistake is somewhere in the file, and that
// what is left is never looser than the defaults.
func FuzzProject(f *testing.F) {
	f.Add(tenantsFile)
	f.Add(Sample())
	f.Add("a.b.c.d.e.f.g.h.i.j = 1\n[[servers]]\n'' = {'' = {}}\n")
	f.Add("sandbox = { memory = 99999999, pids = 8, cpus = 0.5 }\nrun.timeout = nan\nlog.level = 'DEBUG'")
	want, err := Load(Source{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := reader{file: "x", layer: Project, project: "/p"}
		d, problems := r.read([]byte(text))
		for _, p := range problems {
			if line := lineOf(p); line < 1 || line > strings.Count(text, "\n")+1 {
				t.Errorf("%v is on line %d", p, line)
			}
		}
		m := newMerger()
		m.merge(defaults(place{}))
		m.merge(d.settings)
		var c Config
		m.resolve(&c)
		if len(m.errs) > 0 {
			t.Errorf("errors: %v", m.errs)
		}
		if c.Sandbox.Memory > want.Sandbox.Memory || c.Sandbox.Pids > want.Sandbox.Pids ||
			c.Run.Timeout > want.Run.MaxTimeout ||
			len(c.Policy.Allow) > 0 || c.Policy.MaxResult > want.Policy.MaxResult ||
			c.Sandbox.Runtime != want.Sandbox.Runtime ||
			c.Tenant != want.Tenant ||
			c.Servers.Dir != want.Servers.Dir {
			t.Errorf("%+v is looser than\n%+v", c, want)
		}
	})
}
