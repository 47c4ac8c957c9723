// Command bench measures what docs/benchmarks.md claims: `go run ./bench` builds codemode, runs every
// row with both sides interleaved in one run, and prints a Markdown table.
//
// It only measures; nothing here is a test, and no figure makes it fail. Everything it starts it ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"codemode/internal/fakemcp"
)

// row is one measurement: what, the figure, its target, and what it was compared with.
type row struct{ what, figure, target, met string }

// bench holds what the measurements share.
type bench struct {
	dir      string // scratch
	codemode string // the binary
	python   string // the interpreter it carries, unpacked
	npm      string // a prefix with the real servers; empty skips what needs them
	n        int
	match    string // text in the rows of neighbours that are measured
	rows     []row
	bars     []bar
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "fakemcp" {
		os.Exit(fakemcp.Main(os.Args[2:]))
	}
	if len(os.Args) == 4 && os.Args[1] == "corpus" {
		os.Exit(corpusServer(os.Args[2], os.Args[3]))
	}
	if len(os.Args) > 2 && os.Args[1] == "relay" {
		os.Exit(relay(os.Args[2:]))
	}
	n := flag.Int("n", 30, "repetitions of each short measurement")
	npm := flag.String("npm", os.Getenv("CODEMODE_TEST_NPM"), "npm prefix with the real MCP servers and gpt-tokenizer")
	only := flag.String("only", "", "measure only these, separated by commas: "+strings.Join(names(), ", "))
	match := flag.String("match", "", "of the neighbours, measure only rows whose text has this in it")
	file := flag.String("charts", "", "`FILE` that gets what bench/charts draws")
	flag.Parse()
	if err := run(&bench{n: *n, npm: *npm, match: *match}, *only, *file); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measurements are what can be measured, in the order of the table.
var measurements = []struct {
	name string
	run  func(*bench, context.Context) error
}{
	{"exec", (*bench).execStart},
	{"helper", (*bench).helper},
	{"peers", (*bench).peers},
	{"serve", (*bench).serveStart},
	{"thousand-servers", (*bench).manyServers},
	{"memory", (*bench).idleMemory},
	{"sessions", (*bench).manySessions},
	{"live", (*bench).liveRun},
	{"calls", (*bench).sequentialCalls},
	{"floors", (*bench).floors},
	{"placement", (*bench).placement},
	{"gathered", (*bench).gatheredCalls},
	{"payloads", (*bench).payloads},
	{"remote", (*bench).remoteCalls},
	{"record", (*bench).recording},
	{"gather", (*bench).gather},
	{"large", (*bench).large},
	{"tokens", (*bench).tokens},
	{"tasks", (*bench).tasks},
	{"search", (*bench).search},
	{"search-process", (*bench).searchProcess},
	{"listing", (*bench).listing},
	{"refresh", (*bench).refresh},
	{"containers", (*bench).containers},
	{"pods", (*bench).pods},
	{"pods-rate", (*bench).podRate},
	{"files", (*bench).files},
	{"packages", (*bench).packages},
	{"neighbours", (*bench).neighbours},
}

func names() (all []string) {
	for _, m := range measurements {
		all = append(all, m.name)
	}
	return all
}

func run(b *bench, only, charts string) error {
	dir, err := os.MkdirTemp("", "codemode-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.dir = dir
	if err := b.build(); err != nil {
		return err
	}
	ctx := context.Background()
	for _, m := range measurements {
		if only != "" && !slices.Contains(strings.Split(only, ","), m.name) {
			continue
		}
		if err := m.run(b, ctx); err != nil {
			return err
		}
	}
	b.print()
	return b.write(charts)
}

// build makes the binary and lets it unpack its Python.
func (b *bench) build() error {
	b.codemode = filepath.Join(b.dir, "codemode")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.codemode, "codemode/cmd/codemode")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building codemode: %w", err)
	}
	began := time.Now()
	cmd := b.command(nil, "exec", "-c", "pass")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("first run: %w: %s", err, out)
	}
	first := time.Since(began)
	b.add("first run, with CPython unpacked", first.Round(10*time.Millisecond).String(), "1.2 s",
		met(first <= 1200*time.Millisecond))
	found, err := filepath.Glob(filepath.Join(b.dir, "cache", "codemode", "python", "*", "bin", "python3"))
	if err != nil || len(found) == 0 {
		return fmt.Errorf("the unpacked interpreter was not found in %s", b.dir)
	}
	b.python = found[0]
	return nil
}

// command is codemode with a HOME of its own.
func (b *bench) command(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(b.codemode, args...)
	cmd.Dir = b.dir
	cmd.Env = append([]string{
		"HOME=" + filepath.Join(b.dir, "home"), "PATH=" + os.Getenv("PATH"),
		"XDG_CACHE_HOME=" + filepath.Join(b.dir, "cache"),
	}, env...)
	return cmd
}

func (b *bench) add(what, figure, target, met string) {
	b.rows = append(b.rows, row{what, figure, target, met})
	fmt.Fprintf(os.Stderr, "%-60s %s\n", what, figure)
}

// ms formats a duration the way the table does.
func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func met(ok bool) string {
	if ok {
		return "yes"
	}
	return "**no**"
}

func (b *bench) print() {
	fmt.Printf(
		"%s, %s/%s, %d CPUs, %s\n\n", kernel(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(),
	)
	fmt.Println("| what | measured | target | met |\n|---|---|---|---|")
	for _, r := range b.rows {
		fmt.Printf("| %s | %s | %s | %s |\n", r.what, r.figure, r.target, r.met)
	}
}

func kernel() string {
	out, _ := exec.Command("uname", "-sr").Output()
	return strings.TrimSpace(string(out))
}
