// Package codemode_test holds what is true of the repository as a whole: which package may import which,
// that generated documents are fresh, and the house rules that a compiler does not know.
//
// Everything is read in this process, so that the test cache sees the files a result depends on.
package codemode_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"codemode/chaos"
	"codemode/internal/clientcfg/install"
	"codemode/internal/commands"
)

var fix = flag.Bool("fix", false, "rewrite generated documents")

func TestDocs(t *testing.T) {
	attempts := readMatrix(t)
	for name, text := range map[string]string{
		"docs/cli.md": commands.Manual(), "docs/clients.md": install.Manual(),
		"docs/escapes.md": attempts.list(), "docs/security.md": into(t, "docs/security.md", attempts.summary()),
	} {
		fresh(t, name, text)
	}
	table, err := chaos.Table()
	if err != nil {
		t.Fatal(err)
	}
	const name = "docs/reliability.md"
	fresh(
		t,
		name,
		between(
			t, name, "<!-- made of chaos/faults.go and chaos/results.json: go test . -run Docs -fix -->\n",
			"<!-- end -->", table,
		),
	)
}

// between is a document with another text between two marks.
func between(t *testing.T, name, begin, end, text string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks %q and %q", name, begin, end)
	}
	return head + begin + text + end + tail
}

// fresh holds that a document is what it is made to be.
func fresh(t *testing.T, name, text string) {
	t.Helper()
	want := []byte(text)
	if *fix {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s is stale from line %d on; run: go test . -run Docs -fix", name, i+1)
		}
	}
}

// floor is the plan of docs/architecture.md: a package under internal, and those it may import. It is
// policy. Do not change it to make a build pass; change it where the code teaches better.
var floor = map[string][]string{
	"atomicfile": nil,
	"lazyregexp": nil,
	"plainfile":  {"fileerr"},

	"policy":    nil,
	"redact":    nil,
	"filelock":  nil,
	"quota":     {"filelock"},
	"audit":     nil,
	"hint":      {"catalog"},
	"config":    {"fileerr", "hint", "policy"},
	"telemetry": nil,
	"fileerr":   nil,
	"proc":      {"fileerr"},
	"fair":      nil,
	"guest":     {"fair"},
	"catalog":   {"quota"},
	"toon":      nil,
	"fakemcp":   nil,
	"picture":   {"visible"},
	"publicnet": nil,
	"visible":   nil,
	"keyring":   {"filelock"},
	"secrets":   {"cachedir", "filelock", "hint", "keyring"},
	"signin":    {"filelock", "hint", "keyring", "publicnet", "redact"},
	"registry":  {"hint"},
	"cachedir":  {"hint"},
	"require":   nil,
	"toolbox":   {"filelock", "hint", "quota"},
	"artifact":  {"filelock", "hint", "quota"},
	"clientcfg": {"config", "fileerr", "filelock", "hint", "redact"},
	"upstream":  {"config", "fair", "hint", "proc", "publicnet", "redact"},
	"sandbox":   {"cachedir", "fileerr", "hint", "proc"},
	"inquiry":   {"visible"},
	"servers":   {"catalog", "config", "guest", "hint", "policy", "quota", "upstream", "visible"},
	"packages":  {"fileerr", "filelock", "hint", "proc", "redact", "sandbox"},
	"bridge": {
		"artifact", "config", "policy", "audit", "fair", "fileerr", "guest", "catalog", "hint", "inquiry", "picture", "proc",
		"quota", "redact", "upstream", "sandbox", "servers", "telemetry", "toolbox", "toon", "visible",
	},
	"mcpserver": {"artifact", "bridge", "catalog", "config", "hint", "inquiry", "sandbox", "telemetry", "visible"},
	"doctor":    {"bridge", "clientcfg", "config", "catalog", "fileerr", "hint", "redact", "sandbox", "upstream"},
	"commands": {
		"artifact", "audit", "bridge", "clientcfg", "config", "catalog", "doctor", "fileerr", "hint", "inquiry", "keyring",
		"mcpserver", "packages", "quota", "registry", "sandbox", "secrets", "servers", "signin", "telemetry", "toolbox",
		"upstream", "visible",
	},
}

// outside are the directories that are not packages of the plan.
var outside = map[string][]string{
	"cmd/codemode":         {"commands"},
	"cmd/codemode-sandbox": {"sandbox"},
	"packaging/npm":        nil,
	".":                    {"clientcfg", "commands", "sandbox"},
	"testscripts":          {"commands"},
	"chaos":                {"audit", "commands", "toolbox"},
}

// foundations are what every package may use.
var foundations = []string{"atomicfile", "lazyregexp", "plainfile"}

// testOnly are packages for tests, which the tests of whichever package may use.
var testOnly = []string{
	"bridge/bridgetest", "catalog/catalogtest", "clientcfg/splice/splicetest", "fakemcp", "keyring/keyringtest",
	"packages/packagestest",
	"proc/proctest", "require",
	"sandbox/sandboxtest",
}

// usedByTests are the others that any test may use: the audit log to be read, clientcfg for what it puts into an entry.
var usedByTests = append([]string{"audit", "clientcfg"}, testOnly...)

// sdkUsers are the packages that may speak MCP through the SDK.
var sdkUsers = []string{"upstream", "signin", "inquiry", "mcpserver", "fakemcp", "testscripts", "chaos", "bench"}

const (
	module = "codemode/internal/"
	sdk    = "github.com/modelcontextprotocol/go-sdk"
)

func TestImports(t *testing.T) {
	for _, f := range goFiles(t) {
		dir := path.Dir(f.name)
		pkg, inside := strings.CutPrefix(dir, "internal/")
		pkg, _, _ = strings.Cut(pkg, "/") // a package's subdirectories are its own affair
		allowed, known := floor[pkg]
		if !inside {
			pkg = strings.SplitN(dir, "/", 2)[0]
			allowed, known = outside[dir]
		}
		if pkg == "bench" {
			continue // measures whatever it likes
		}
		if !known {
			t.Errorf("%s: the floor plan has no %s", f.name, dir)
			continue
		}
		for _, spec := range f.syntax.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			rest, ours := strings.CutPrefix(imported, module)
			to, _, _ := strings.Cut(rest, "/")
			forTests := strings.HasSuffix(f.name, "_test.go") ||
				slices.Contains(testOnly, strings.TrimPrefix(dir, "internal/"))
			if strings.HasPrefix(imported, sdk) && !forTests && !slices.Contains(sdkUsers, pkg) {
				t.Errorf("%s imports the MCP SDK; only %v do", f.name, sdkUsers)
			}
			if forTests && slices.Contains(usedByTests, rest) {
				continue
			}
			if ours && to != pkg && !slices.Contains(foundations, to) && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s; %s may import %v", f.name, imported, pkg, allowed)
			}
		}
	}
}

// homes are the only places, as the beginning of a file's name, where a function or variable may be used.
var homes = map[string][]string{
	"os.Getenv": {
		"internal/commands/", "internal/config/", "internal/fakemcp/", "internal/bridge/bridgetest/", "internal/require/",
		"internal/sandbox/sandboxtest/", "bench/",
	},
	"os.LookupEnv": {
		"internal/commands/", "internal/config/", "internal/fakemcp/", "internal/bridge/bridgetest/", "internal/require/",
		"internal/sandbox/sandboxtest/", "bench/",
	},
	// Others are read by plainfile: what stands in a file's place may be a FIFO, or without an end.
	"os.ReadFile": {
		"internal/sandbox/", "internal/proc/", "internal/commands/doctor_report.go", "internal/fakemcp/",
		"internal/bridge/hostile/", "internal/catalog/catalogtest/", "packaging/", "bench/",
	},
	"os.Stdout": {"internal/commands/", "internal/fakemcp/", "internal/bridge/bridgetest/", "bench/"},
	"os.Stderr": {"internal/commands/", "internal/fakemcp/", "internal/bridge/bridgetest/", "bench/", "cmd/codemode-sandbox/"},
	// The guard is a process that only waits; a cgroup says nowhere when it has become empty.
	"time.Sleep": {"internal/fakemcp/", "internal/bridge/bridgetest/", "internal/proc/guard/", "internal/sandbox/cgroup_linux.go"},
}

func TestHomes(t *testing.T) {
	for _, f := range goFiles(t) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			name := x.Name + "." + sel.Sel.Name
			allowed, ruled := homes[name]
			if strings.HasSuffix(f.name, "_test.go") && name != "time.Sleep" {
				return true
			}
			if ruled && !slices.ContainsFunc(allowed, func(h string) bool { return strings.HasPrefix(f.name, h) }) {
				t.Errorf("%s: %s belongs to %v", f.set.Position(n.Pos()), name, allowed)
			}
			return true
		})
	}
}

const (
	maxLines     = 500
	maxMainLines = 20
	maxColumns   = 120 // a tab is four

	maxTestColumns = 160

	maxFuncLines = 60 // of a function; those of tests, which are tables, may be longer
)

// literal is a text in quotes, which is not cut into pieces for the sake of a line.
var literal = regexp.MustCompile("\"(?:\\\\.|[^\"\\\\])*\"|`[^`]*`")

// tableRow is a row of a test's table, which is read beside the others.
var tableRow = regexp.MustCompile("^\\t+[{\"`]")

// TestColumns holds that lines can be read side by side: all but those that one text makes long, and tests' tables.
func TestColumns(t *testing.T) {
	for name, text := range files(t, ".go") {
		inRaw, n, most := false, 0, maxColumns
		if strings.HasSuffix(name, "_test.go") {
			most = maxTestColumns
		}
		for line := range strings.Lines(text) {
			n++
			line = strings.TrimRight(line, "\r\n")
			longest := 0
			for _, l := range literal.FindAllString(line, -1) {
				longest = max(longest, utf8.RuneCountInString(l))
			}
			raw := inRaw
			inRaw = inRaw != (strings.Count(line, "`")%2 == 1)
			columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if tableRow.MatchString(line) && most == maxTestColumns {
				continue
			}
			if columns > most && !raw && !inRaw && columns-longest > maxColumns/2 {
				t.Errorf("%s:%d has %d columns, more than %d", name, n, columns, most)
			}
		}
	}
}

// TestFunctions holds that a function fits a screen.
func TestFunctions(t *testing.T) {
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1
			if lines > maxFuncLines {
				t.Errorf("%s: %s has %d lines, more than %d: name its steps",
					f.set.Position(fn.Pos()), fn.Name.Name, lines, maxFuncLines)
			}
		}
	}
}

// TestDocuments holds that the README and each page of the guide are short, that no line of a document is too long, and
// that what they link to is there.
func TestDocuments(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)[^)]*\)`)
	for name, text := range files(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "http") {
				continue
			}
			if _, err := os.Stat(path.Join(path.Dir(name), m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		lines, columns := 200, 100 // lines of a page of the guide
		switch {
		case slices.Contains([]string{"docs/cli.md", "docs/clients.md", "docs/escapes.md"}, name), // generated
			name == "internal/mcpserver/capabilities.md": // for models
			continue
		case name == "README.md":
			lines = 100 // two screens
		case path.Dir(name) != "docs/guide":
			lines = math.MaxInt
		}
		if *fix {
			text = rewrap(t, name, text, columns)
		}
		written := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i, prose := range proseLines(written) {
			if is := utf8.RuneCountInString(written[i]); prose && is > columns {
				t.Errorf("%s:%d has %d columns, more than %d; run: go test . -run Documents -fix", name, i+1, is, columns)
			}
		}
		if n := len(written); n > lines {
			t.Errorf("%s has %d lines, more than %d", name, n, lines)
		}
	}
}

// TestContributing holds that the files that CONTRIBUTING.md sends people to are there.
func TestContributing(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, places, found := strings.Cut(string(text), "## Where things are")
	named := regexp.MustCompile("`((?:[.\\w]+/)+[.\\w]+|\\w+\\.go)`").FindAllStringSubmatch(places, -1)
	if !found || len(named) < 10 {
		t.Fatalf("it names %d files", len(named))
	}
	for _, m := range named {
		if _, err := os.Stat(m[1]); err != nil {
			t.Error(err)
		}
	}
}

func TestFiles(t *testing.T) {
	for name, text := range files(t, ".go", ".py") {
		lines := strings.Count(text, "\n")
		if lines > maxLines {
			t.Errorf("%s has %d lines; more than %d is more than one idea", name, lines, maxLines)
		}
		if name == "cmd/codemode/main.go" && lines > maxMainLines {
			t.Errorf("%s has %d lines; it is an exit-code adapter of at most %d", name, lines, maxMainLines)
		}
	}
	// Joined here, so that this file does not hold them itself.
	forbidden := []string{
		"/wo" + "rk/main", "/wo" + "rk/shared", "/wo" + "rk/.", "shared/" + "design", "Co-Authored" + "-By",
		"registry.npm" + "js.org", "proxy.go" + "lang.org",
	}
	for name, text := range files(t, ".go", ".py", ".md", ".txtar", ".toml", ".sh") {
		for _, word := range forbidden {
			if strings.Contains(text, word) {
				t.Errorf("%s mentions %q", name, word)
			}
		}
	}
}

// TestEmbedded holds that the binary carries source alone: bytecode that lies about would be embedded, and be
// another at every start.
func TestEmbedded(t *testing.T) {
	for name := range files(t, ".pyc") {
		if strings.HasPrefix(name, "internal/guest/python/") {
			t.Errorf("%s would be embedded; delete it, and run Python with -B there", name)
		}
	}
}

func TestPackageDocs(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range goFiles(t) {
		dir := path.Dir(f.name)
		if strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		documented[dir] = documented[dir] || f.syntax.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s says nowhere what it owns and what it never does", dir)
		}
	}
}

type goFile struct {
	name   string
	set    *token.FileSet
	syntax *ast.File
}

func goFiles(t *testing.T) (list []goFile) {
	t.Helper()
	for name, text := range files(t, ".go") {
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, goFile{name, set, syntax})
	}
	return list
}

// files reads every file of the repository with one of the endings, by slash-separated name.
func files(t *testing.T, endings ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(endings, filepath.Ext(name)):
			return nil
		}
		data, err := os.ReadFile(name)
		all[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
