package testscripts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestGuide runs the examples of the guide: what stands behind a $ is a command, what follows is what it prints, where …
// is anything. Every page has one.
func TestGuide(t *testing.T) {
	pages, err := filepath.Glob("../docs/guide/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	dir := t.TempDir()
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		script := exampleScript(string(text))
		if script == "" {
			t.Errorf("%s has no example", page)
		}
		name := strings.TrimSuffix(filepath.Base(page), ".md") + ".txtar"
		if err := os.WriteFile(filepath.Join(dir, name), []byte("[!native] skip 'needs a sandbox'\n"+script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cache := scriptCache(t)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup:               func(env *testscript.Env) error { return setup(env, cache) },
		Condition:           condition(t, cache),
	})
}

var example = regexp.MustCompile("(?ms)^```console\n(.*?)^```")

// exampleScript makes a script of a page's examples.
func exampleScript(page string) string {
	var script strings.Builder
	for _, m := range example.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(m[1]) {
			line = strings.TrimSuffix(line, "\n")
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				fmt.Fprintf(&script, "exec sh -c %s\n", scriptQuote(command+" 2>&1"))
				continue
			}
			pattern := strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")
			fmt.Fprintf(&script, "stdout %s\n", scriptQuote("^"+pattern+"$"))
		}
	}
	return script.String()
}

// scriptQuote is a text as one argument of a script's command.
func scriptQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
