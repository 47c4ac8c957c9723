package bridge

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/config"
	"codemode/internal/proc/proctest"
)

// keeping is a kit that keeps lists of tools in a folder. The tests' own mark does not count as the server's
// definition.
func keeping(t *testing.T, dir string, s config.Server) *kit {
	t.Helper()
	k := newKit(t, func(o *Options) { o.CatalogDir = dir }, s)
	k.lists.Expand = func(s config.Server, _ func(string, string)) (config.Server, error) {
		s.Env = maps.Clone(s.Env)
		delete(s.Env, proctest.Variable)
		return s, nil
	}
	return k
}

// What an earlier process has listed is searched and described without starting anything, until a call does.
func TestKeptListsStartNothing(t *testing.T) {
	dir := t.TempDir()
	first := keeping(t, dir, with(fake("fake"), "TOKEN", "s3cret-of-fake"))
	first.text("await mcp_fake.echo(message='x')")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	k := keeping(t, dir, with(fake("fake"), "TOKEN", "s3cret-of-fake"))
	contains(t, k.run(Request{Code: "[t for t in await runtime.search_tool_docs('echo', limit=1)]"}).compact(), "echo")
	k.text("print((await runtime.query_tool_docs('fake'))[:1])")
	if strings.Contains(k.log.String(), "server started") {
		t.Error("looking has started the server")
	}
	want(t, k.text("await mcp_fake.echo(message='now')"), "result: 'now'")
	k.waitForLog("server started")
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("s3cret")) || strings.Contains(path, "s3cret") {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
}

// A server that is defined otherwise, or whose secret is another, has a list of its own.
func TestKeptListsBelongToOneDefinition(t *testing.T) {
	dir := t.TempDir()
	first := keeping(t, dir, with(fake("fake"), "TOKEN", "one"))
	first.text("await runtime.query_tool_docs('fake')")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, others := keeping(t, dir, with(fake("fake"), "TOKEN", "two")).servers.Known(); len(others) != 1 {
		t.Error("the list of one token is known with another")
	}
	if _, others := keeping(t, dir, fake("fake", "-tools", "3")).servers.Known(); len(others) != 1 {
		t.Error("the list of one command line is known with another")
	}
}

// The first call confirms what was kept; what the server says today replaces it, in the session that is open, too.
func TestKeptListsAreConfirmed(t *testing.T) {
	dir := t.TempDir()
	k := keeping(t, dir, fake("fake"))
	c, _ := k.servers.Find("fake")
	stale := []json.RawMessage{
		json.RawMessage(`{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"string"}}}}`),
		json.RawMessage(`{"name":"gone","inputSchema":{"type":"object"}}`),
	}
	k.lists.Save(c, stale, 0)
	want(t, k.text("print('gone' in str(await runtime.query_tool_docs('fake')))"), "True")
	want(t, k.text("await mcp_fake.echo(message='x')"), "result: 'x'")
	want(t, k.text("print('gone' in str(await runtime.query_tool_docs('fake')))"), "False")
	entry, ok := k.lists.Load(c)
	if !ok || len(entry.Tools) < 3 {
		t.Errorf("%d tools are kept (%v)", len(entry.Tools), ok)
	}
}

// A tool that an earlier process was not told of, as its client could do less, is found however it is asked for.
func TestKeptListsLackNoTool(t *testing.T) {
	for _, code := range []string{
		"await mcp_fake.echo(message='x')",
		"await mcp_servers['fake']['echo'](message='x')",
		"(await runtime.query_tool_docs('fake', 'echo')).tool[:0] + 'x'",
		"runtime.query_tool_docs_sync('fake', 'echo').tool[:0] + 'x'",
	} {
		k := keeping(t, t.TempDir(), fake("fake"))
		c, _ := k.servers.Find("fake")
		k.lists.Save(c, []json.RawMessage{json.RawMessage(`{"name":"other","inputSchema":{"type":"object"}}`)}, 0)
		want(t, k.text(code), "result: 'x'")
	}
}

// What results look like is learned without their values.
func TestObservedResults(t *testing.T) {
	dir := t.TempDir()
	k := keeping(t, dir, fake("fake"))
	k.text(`await mcp_fake.echo(message='{"id": 7, "owner": {"name": "s3cret"}}')`)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	again := keeping(t, dir, fake("fake"))
	known, _ := again.servers.Known()
	s, _ := known.Server("fake")
	tool, _ := s.Tool("echo")
	doc, err := json.Marshal(tool.Observed)
	if err != nil || !bytes.Contains(doc, []byte("owner")) || bytes.Contains(doc, []byte("s3cret")) {
		t.Errorf("it was learned that %s (%v)", doc, err)
	}
}

// A tool that the user has switched off is neither shown nor called.
func TestToolsSwitchedOff(t *testing.T) {
	s := fake("fake")
	s.ToolsDeny = []string{"echo"}
	k := newKit(t, nil, s)
	want(t, k.text("print('echo' in str(await runtime.query_tool_docs('fake')))"), "False")
	contains(t, k.run(Request{Code: "await mcp.call_tool('fake', 'echo', {'message': 'x'})"}).compact(), "echo")
}
