package bridge

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/config"
)

// TestReferences: a tool that takes a path reads an artifact by it; whoever is asked sees the path, and code does not,
// in whatever comes back.
func TestReferences(t *testing.T) {
	remote := config.Server{Name: "remote", URL: "http://127.0.0.1:9/mcp", Transport: "http"}
	inside := fake("inside", "-reads")
	inside.Sandbox = &config.Restrictions{}
	k := newKit(t, func(o *Options) {
		withArtifacts(t)(o)
		o.Config.Policy.Confirm = []string{"files.read_path"}
	}, fake("files", "-reads"), inside, remote)
	out := k.run(Request{Code: "artifact(b'hello', name='sub/a.txt')"})
	if len(out.Artifacts) != 1 {
		t.Fatalf("%s %q", out.Error, out.Notes)
	}
	a := out.Artifacts[0]
	path := k.opts.Artifacts.Path(a)
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm()&0o222 != 0 {
		t.Errorf("the file can be changed: %v, %v", fi, err)
	}
	var asked []string
	ask := func(_ context.Context, q Question) (Answer, error) {
		asked = append(asked, q.Arguments)
		return Once, nil
	}
	out = k.run(Request{Ask: ask, Session: "later", Code: `
word = artifacts.for_tool("` + a.URI() + `")
assert word == artifacts.for_tool("` + a.ID + `")
print(await mcp_files.read_path(message=word))
print(await mcp_files.echo(message="no " + word), await mcp_files.arguments(message={word: [word, "x"]}))
try: await mcp_files.fail(message=word)
except Exception as error: print(error)
for server in "remote", "inside":
    try: artifacts._channel.request_sync("tools/call", {"server": server, "tool": "echo", "arguments": {"message": word}})
    except Exception as error: print(error)
try: artifacts.for_tool("aaaaaaaaaaaa")
except Exception as error: print(error)
`})
	text := string(out.Stdout.Head) + out.Error
	for _, want := range []string{
		"hello in codemode-artifact:", "no codemode-artifact:", `server "inside" runs in a sandbox, which has no artifacts`,
		`server "remote" is reached by its URL, and reads no file of this machine`, "there is no such artifact",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	if strings.Contains(text+strings.Join(out.Notes, ""), filepath.Dir(filepath.Dir(path))) {
		t.Errorf("code has a path of this machine: %q", text)
	}
	if len(asked) != 1 || !strings.Contains(asked[0], path) {
		t.Errorf("asked was %q, and sent %q", asked, path)
	}
	// A word of another session is a text.
	out = k.run(Request{Session: "stranger", Code: "print(await mcp_files.echo(message='codemode-artifact:" + a.ID + ":x'))"})
	if !strings.Contains(string(out.Stdout.Head), "codemode-artifact:"+a.ID+":x") {
		t.Errorf("%q %s", out.Stdout.Head, out.Error)
	}
}
