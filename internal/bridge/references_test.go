package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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

// TestManyReferences: a call of more references than it may have costs no more than to see that, and is not made.
func TestManyReferences(t *testing.T) {
	k := newKit(t, withArtifacts(t), fake("files", "-reads"))
	out := k.run(Request{Code: "artifact(b'hello', name='a.txt')"})
	out = k.run(Request{Code: `
word = artifacts.for_tool("` + out.Artifacts[0].ID + `")
print(len((await mcp_files.arguments(message=[word] * 1000))["message"]))
for count in 1001, 100_000:
    try: await mcp_files.arguments(message=[word] * count)
    except Exception as error: print(type(error).__name__, error)
`})
	text := string(out.Stdout.Head) + out.Error
	const no = "its arguments have more than 1000 references to artifacts; the call was not made"
	if !strings.HasPrefix(text, "1000\n") || strings.Count(text, no) != 2 || out.Receipt.ByTool["files.arguments"].OK != 1 {
		t.Errorf("%.2000q, %+v", text, out.Receipt)
	}
}

// TestQuestionsHaveThePath: whoever is asked sees what is sent, and whatever comes of the question, what code, its result
// and the client's display get has the word.
func TestQuestionsHaveThePath(t *testing.T) {
	k := newKit(t, func(o *Options) {
		withArtifacts(t)(o)
		o.Config.Policy.Confirm = []string{"files.echo"}
	}, fake("files", "-reads", "-asks"))
	out := k.run(Request{Code: "artifact(b'hello', name='a.txt')"})
	if len(out.Artifacts) != 1 {
		t.Fatalf("%s %q", out.Error, out.Notes)
	}
	a := out.Artifacts[0]
	path := k.opts.Artifacts.Path(a)
	for name, answer := range map[string]struct {
		said Answer
		err  error
	}{
		"a yes": {Once, nil}, "a no": {No, nil}, "closed": {Dismissed, nil},
		"an error": {Unanswered, errors.New("the client cannot show " + path)},
	} {
		var mu sync.Mutex
		var asked []string
		shown := func(text string) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, text)
		}
		out := k.run(Request{
			Ask: func(_ context.Context, q Question) (Answer, error) {
				shown(q.Arguments)
				return answer.said, answer.err
			},
			Can: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
			Respond: func(_ context.Context, request mcp.InputRequest) (mcp.InputResponse, error) {
				shown(request.(*mcp.ElicitParams).Message)
				return &mcp.ElicitResult{Action: "decline"}, answer.err
			},
			Code: `
word = artifacts.for_tool("` + a.ID + `")
for call in mcp_files.echo(message=word), mcp_files.ask(what="form", message=word):
    try: print(await call)
    except Exception as error: print(error, vars(error))
`,
		})
		text := out.compact() + string(out.JSON())
		mu.Lock()
		if len(asked) != 2 || !strings.Contains(asked[0], path) || !strings.Contains(asked[1], path) {
			t.Errorf("%s: shown was %q, and sent %q", name, asked, path)
		}
		mu.Unlock()
		if strings.Contains(text, filepath.Dir(filepath.Dir(path))) || !strings.Contains(text, "files.echo") {
			t.Errorf("%s: code or the client has a path of this machine: %s", name, text)
		}
		if answer.err != nil {
			contains(t, text, "the client cannot show codemode-artifact:")
		}
	}
}

// TestReferencesEverywhere: neither code nor the client gets a path by the escapes of JSON, by progress, or by what a
// server has said on its stderr in an earlier call.
func TestReferencesEverywhere(t *testing.T) {
	k := newKit(t, withArtifacts(t), fake("files", "-reads"))
	out := k.run(Request{Code: "artifact(b'hello', name='d\u00e9j\u00e0 \U0001F600.txt')"})
	if len(out.Artifacts) != 1 {
		t.Fatalf("%s %q", out.Error, out.Notes)
	}
	path := k.opts.Artifacts.Path(out.Artifacts[0])
	var mu sync.Mutex
	var told []string
	tell := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, text)
	}
	out = k.run(Request{
		Progress: tell, Calling: func(_, text string) { tell(text) }, Code: `
word = artifacts.for_tool("` + out.Artifacts[0].ID + `")
task = mcp_files.spell_path.start(message=word)
print(await task.raw(), task.message)
await mcp_files.complain(message=word)
try: await mcp_files.crash()
except Exception as error: print(error, vars(error))
`,
	})
	text := string(out.Stdout.Head) + out.Error + strings.Join(out.Notes, "")
	mu.Lock()
	progress := strings.Join(told, "\n")
	mu.Unlock()
	contains(t, progress, ": codemode-artifact:")
	contains(t, text, "fakemcp: crashing as told", "': 1.5", `{"path": "codemode-artifact:`)
	text += progress
	if strings.Contains(text, filepath.Dir(filepath.Dir(path))) || strings.Contains(strings.ToLower(text), `\u00`) {
		t.Errorf("code or the client has a path of this machine: %q", text)
	}
}

// TestUnresolveJSON: only the strings that have a path in them are written anew.
func TestUnresolveJSON(t *testing.T) {
	var g sentPaths
	folder := filepath.Join(string(filepath.Separator)+"h\u00e9", "artifacts")
	if err := g.add("abcdefghijk2", filepath.Join(folder, "abcdefghijk2", "\u00e9.txt"), "WORD"); err != nil {
		t.Fatal(err)
	}
	if filepath.Separator != '/' {
		t.Skip("the cases are written with slashes")
	}
	for value, said := range map[string]string{
		` {"a" : 1.50, "a":"\u0041\/", "h":"/h\u00e9/artifacts/abcdefghijk3/\u00e9.txt"} `: "",
		`["\ud800", "/h\u00E9/artifacts/abcdefghijk2/\u00e9.txt", "\u002f" ]`:              `["\ud800", "WORD", "\u002f" ]`,
		`{"file:\u002F\u002Fh\u00e9\/artifacts/\u0061bcdefghijk2/é.txt?":1e3}`:             `{"file:/WORD?":1e3}`,
		`"{\"a\": \"\\/h\\u00e9\\u002fartifacts\\/abcdefghijk2/\\u00E9.txt\"}"`:            `"{\"a\": \"WORD\"}"`,
		`"/hé/artifacts/abcdefghijk2/é.txt /hé/artifacts/abcdefghijk2/é.txt"`:              `"WORD WORD"`,
	} {
		if said == "" {
			said = value
		}
		want(t, string(g.unresolveJSON(json.RawMessage(value))), said)
		want(t, string(new(sentPaths).unresolveJSON(json.RawMessage(value))), value)
	}
}
