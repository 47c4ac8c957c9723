package testscripts

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestGuide runs the examples of the guide: what stands behind a $ is a command, what follows is what it prints, where
// … is anything. Every page has one.
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
		if err := os.WriteFile(
			filepath.Join(dir, name), []byte("[!native] skip 'needs a sandbox'\n"+script), 0o600,
		); err != nil {
			t.Fatal(err)
		}
	}
	cache := scriptCache(t)
	index := newIndex() // in the place of the public one
	t.Cleanup(index.Close)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			err := setup(env, cache)
			env.Setenv("CODEMODE_PACKAGES_INDEX", index.URL())
			return err
		},
		Condition: condition(t, cache),
	})
}

// gitHub is what the guide's lines from nothing to an answer are about, and their token.
const gitHub, gitHubToken = "https://api.githubcopilot.com/mcp/", "ghp_…"

// TestGitHub runs the guide's lines from nothing to an answer of GitHub's server: as they stand there, but for its address
// and the token, which are a stand-in's.
func TestGitHub(t *testing.T) {
	page, err := os.ReadFile("../docs/guide/servers-by-url.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\nFrom nothing to an answer of GitHub's server:\n\n")
	lines, _, found := strings.Cut(rest, "\n\n")
	if n := strings.Count(lines, "\n") + 1; !found || n != 4 || strings.Count(lines, gitHub) != 1 ||
		strings.Count(lines, gitHubToken) != 1 {
		t.Fatalf("the guide has %d lines: %s", n, lines)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "github"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_me", Description: "Who is signed in"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, map[string]string{"login": "octocat"}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	standIn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp/" || r.Header.Get("Authorization") != "Bearer ghp_octocat" {
			http.Error(w, "Bad credentials", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(standIn.Close)
	lines = strings.NewReplacer(gitHub, standIn.URL+"/mcp/", gitHubToken, "ghp_octocat").Replace(lines)
	script := "[!native] skip 'needs a sandbox'\n" +
		"exec sh -e lines\nstdout get_me\nstdout octocat\n! stdout ghp_\n! stderr ghp_\nno-orphans\n-- lines --\n" + lines + "\n"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "github.txtar"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := scriptCache(t)
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true, Condition: condition(t, cache),
		Setup: func(env *testscript.Env) error { return setup(env, cache) },
		Cmds:  scriptCommands,
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

// TestFromTheOriginal holds that each row of what changes for users of the original is a section of original.txtar.
func TestFromTheOriginal(t *testing.T) {
	page, err := os.ReadFile("../docs/from-the-original.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("original.txtar")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.HasPrefix(cells[1], "-") || strings.TrimSpace(cells[1]) == "what" {
			continue
		}
		rows++
		if !strings.Contains(string(script), "\n# "+strings.TrimSpace(cells[1])+"\n") {
			t.Errorf("original.txtar has no section %q", strings.TrimSpace(cells[1]))
		}
	}
	if rows < 5 {
		t.Errorf("the page has %d rows", rows)
	}
}
