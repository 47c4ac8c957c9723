package clientcfg

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codemode/internal/config"
	"codemode/internal/require"
)

// findIn discovers what one file of a home holds.
func findIn(t *testing.T, name, text string) Found {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, file, text)
	return Discover(Options{Env: Env{OS: "linux", Home: home}})
}

func TestFilesThatAreTooMuch(t *testing.T) {
	var many, bomb strings.Builder
	many.WriteString(`{"mcpServers": {`)
	for i := range maxServers + 5 {
		fmt.Fprintf(&many, `"s%d": {"command": "x", "args": ["%d"]},`, i, i)
	}
	many.WriteString(`}}`)
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(
			&bomb, "a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9)+fmt.Sprintf("*a%d", i),
		)
	}
	mistakes := `{"mcpServers": {` + strings.Repeat(`"a": 1, `, 5000) + `"a": {"command": "x"}}}`
	if found := findIn(t, ".gemini/settings.json", mistakes); len(found.Problems) != maxProblems+1 ||
		len(found.Servers) != 1 {
		t.Errorf("5000 mistakes make %d problems, %d servers", len(found.Problems), len(found.Servers))
	}
	for what, tt := range map[string]struct {
		file, text, problem string
		servers             int
	}{
		"servers":      {".gemini/settings.json", many.String(), "more than 1000 servers", maxServers},
		"JSON depth":   {".gemini/settings.json", strings.Repeat("[", 1<<20), "line 1, column 10001: exceeded max depth", 0},
		"object depth": {".gemini/settings.json", strings.Repeat(`{"a":`, 1<<20), "exceeded max depth", 0},
		"TOML depth":   {".codex/config.toml", "a = " + strings.Repeat("[", 1<<19), "nested", 0},
		"YAML depth":   {".config/goose/config.yaml", strings.Repeat("[", 1<<19), "exceeded max depth", 0},
		"YAML aliases": {".config/goose/config.yaml", bomb.String(), "more than 10000 values", 0},
		"YAML itself":  {".config/goose/config.yaml", "a: &a\n  b: *a\n", "more than 10000 values", 0},
		"TOML size":    {".codex/config.toml", strings.Repeat("# long\n", maxOther/7+1), "larger than 1 MiB", 0},
	} {
		found := findIn(t, tt.file, tt.text)
		if len(found.Servers) != tt.servers || len(found.Problems) != 1 || !hasProblem(found.Problems, tt.problem) {
			t.Errorf("%s: %d servers, problems %v", what, len(found.Servers), found.Problems)
		}
	}
}

func TestProjectFilesAreSmall(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".mcp.json"), `{"a": "`+strings.Repeat("x", maxOther)+`"}`)
	found := Discover(Options{Env: Env{OS: "linux", WorkDir: dir}})
	if len(found.Problems) != 1 || !hasProblem(found.Problems, "larger than 1 MiB") {
		t.Errorf("problems %v", found.Problems)
	}
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".codex"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".codex", "config.toml"), strings.Repeat("# long\n", maxForeignTOML/7+1))
	found = Discover(Options{Env: Env{OS: "linux", WorkDir: dir}})
	if len(found.Problems) != 1 || !hasProblem(found.Problems, "larger than") {
		t.Errorf("problems %v", found.Problems)
	}
}

func TestLargestFile(t *testing.T) {
	home := t.TempDir()
	file := write(t, filepath.Join(home, ".claude.json"), "{")
	if err := os.Truncate(file, maxJSON+1); err != nil {
		require.Lacking(t, "sparse files", "%v", err)
	}
	found := Discover(Options{Env: Env{OS: "linux", Home: home}})
	if len(found.Problems) != 1 || !hasProblem(found.Problems, "larger than 64 MiB") {
		t.Errorf("problems %v", found.Problems)
	}
}

// TestLargeFileOfWindows holds that names with escapes are found in what is passed over otherwise.
func TestLargeFileOfWindows(t *testing.T) {
	text := `{"history": "` + strings.Repeat("x", largeFile) + `",
		"projects": {"C:\\Users\\Ann\\proj": {"mcpServers": {"a": {"command": "x"}}}, "C:\\other": {"mcpServers": {"b": {"command": "x"}}}}}`
	f := file{
		client: &clients[1],
		scope:  User,
		key:    mcpServers,
		path:   "f.json",
		env:    &Env{OS: "windows", WorkDir: `C:\Users\Ann\proj`},
	}
	f.parse([]byte(text))
	if len(f.entries) != 1 || f.entries[0].Written != "a" || f.entries[0].Line != 2 || len(f.problems) != 0 {
		t.Errorf("got %+v, %v", f.entries, f.problems)
	}
}

// TestSelfByFile holds that codemode is known under any name its file has.
func TestSelfByFile(t *testing.T) {
	dir := t.TempDir()
	exe := write(t, filepath.Join(dir, "codemode"), "")
	other := write(t, filepath.Join(dir, "other"), "")
	link := filepath.Join(dir, "cm")
	if err := os.Symlink(exe, link); err != nil {
		require.Lacking(t, "symlinks", "%v", err)
	}
	env := Env{OS: "linux", Home: dir, Lookup: func(string) (string, bool) { return dir, true }}
	f := newSelfFinder(env, Self{Executable: exe})
	for command, want := range map[string]bool{
		"cm": true, link: true, "~/cm": true, "other": false, other: false, "none": false,
	} {
		for _, s := range []config.Server{{Command: command}, {Command: "env", Args: []string{"A=b", command}}} {
			if got := f.reason(s) != ""; got != want {
				t.Errorf("%s %v: %v", s.Command, s.Args, got)
			}
		}
	}
}

// TestStartsNothing holds that no file of the package could start a program or open a connection.
func TestStartsNothing(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) == 0 {
		t.Fatal("no files", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range syntax.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if slices.Contains([]string{"os/exec", "net", "net/http", "plugin"}, imported) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
}
