package bridge

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/audit"
	"codemode/internal/config"
	"codemode/internal/fakemcp"
	"codemode/internal/servers"
)

// rawAsk asks a server as code can that minds none of codemode's own objects, and prints why it was refused.
const rawAsk = `
from mcp._state import context
async def ask(method, server="fake", **params):
    try:
        return await context.catalog.channel.request("request", {"server": server, "method": method, "params": params})
    except Exception as error:
        print(error.code, error, (error.data or {}).get("rule", ""))
`

// TestRequestIsJudged holds that what is no call of a tool passes the policy as a call does, by its method's name.
func TestRequestIsJudged(t *testing.T) {
	const read = "print((await ask('resources/read', uri='fake://text') or {}).get('contents'))"
	const contents = "[{'uri': 'fake://text', 'mimeType': 'text/plain', 'text': 'text of fake://text'}]"
	for name, c := range map[string]struct {
		change func(*Options)
		code   string
		want   string
	}{
		"none":    {nil, read, contents},
		"readers": {func(o *Options) { o.Config.Policy.Allow = []string{"readonly"} }, read, contents},
		"a name":  {func(o *Options) { o.Config.Policy.Allow = []string{"fake.resources/*"} }, read, contents},
		"denied": {
			func(o *Options) { o.Config.Policy.Deny = []string{"fake.resources/read"} }, read,
			"-32004 policy denies fake.resources/read: it fits \"fake.resources/read\" of policy.deny deny:fake.resources/read\nNone",
		},
		"denied by a name that is not known": {
			func(o *Options) {
				o.Config.Policy.Deny = []string{"alias.resources/read"}
				unread := o.Servers().All
				for i := range unread {
					unread[i].Unread = `"mcp.json" is empty`
				}
				o.Servers = servers.Always(unread...)
			}, read,
			"-32004 policy denies fake.resources/read: \"mcp.json\" is empty, and may have its server by the name in" +
				" \"alias.resources/read\" of policy.deny deny:alias.resources/read\nNone",
		},
		"not allowed": {
			func(o *Options) { o.Config.Policy.Allow = []string{"fake.echo"} }, read,
			"-32004 policy denies fake.resources/read: nothing in policy.allow fits it allow\nNone",
		},
		"denied by a word": {
			func(o *Options) { o.Config.Policy.Deny = []string{"openworld"} }, read,
			"-32004 policy denies fake.resources/read: it fits \"openworld\" of policy.deny deny:openworld\nNone",
		},
		"counted": {
			func(o *Options) { o.Config.Policy.CallsPerRun = 1 }, "await mcp_fake.echo(message='one')\n" + read,
			"-32004 policy denies fake.resources/read: the run has made 1 calls, and policy.calls_per_run is 1 calls_per_run\nNone",
		},
		"too large": {
			func(o *Options) { o.Config.Policy.MaxResult = 1000 }, "await ask('resources/read', uri='fake://big/1000')",
			"-32004 policy withholds what fake.resources/read has returned, the call was made: its result has",
		},
		"nobody to ask": {
			func(o *Options) { o.Config.Policy.Confirm = []string{"fake.prompts/*"} }, "await ask('prompts/get', name='greet')",
			"-32004 policy denies fake.prompts/get: it fits \"fake.prompts/*\" of policy.confirm, and ",
		},
		"unknown method": {
			nil, "await ask('tools/call', name='echo')",
			"-32602 no server can be asked for \"tools/call\"; there are completion/complete, ",
		},
		"wrong parameters": {
			nil, "await ask('resources/read', name='echo')",
			"-32602 params of resources/read: \"uri\" is missing; nothing was sent ",
		},
		"half a surrogate": {
			nil, "await ask('resources/read', uri='fake://\\ud800')",
			"-32602 params of \"resources/read\": ",
		},
		"another server": {nil, "await ask('resources/list', server='fakes')", "-32001 Server 'fakes' is not available"},
		"a tool's name":  {nil, "print(await context.calls.by_name('fake', 'resources/read', {}, print))", "mcp.MCPError: server 'fake' has no tool"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, c.change, fake("fake", "-resources"))
			contains(t, k.text(rawAsk+c.code), c.want)
		})
	}
	k := newKit(t, nil, fake("fake", "-resources"), fake("other"))
	out := k.run(Request{Code: rawAsk + "await ask('resources/list')", Servers: []string{"other"}})
	contains(t, out.compact(), "-32001 Server 'fake' is not available")
	contains(t, k.text(rawAsk+"await ask('prompts/list', server='other')"), `-32000 server "other" offers no prompts`)
}

// TestRequestIsAskedAbout holds that the user sees what is sent.
func TestRequestIsAskedAbout(t *testing.T) {
	k := newKit(t, func(o *Options) { o.Config.Policy.Confirm = []string{"fake.resources/read"} }, fake("fake", "-resources"))
	var asked Question
	out := k.run(Request{
		Code: rawAsk + "print(len((await ask('resources/read', uri='fake://text'))['contents']))",
		Ask:  func(_ context.Context, q Question) (Answer, error) { asked = q; return ForRun, nil },
	})
	want(t, out.compact(), "1")
	if asked.Tool != "resources/read" || asked.Arguments != `{"uri":"fake://text"}` {
		t.Errorf("the user was asked %+v", asked)
	}
}

// TestRequestIsWrittenDown looks for requests in receipt and audit log.
func TestRequestIsWrittenDown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	k := newKit(t, func(o *Options) {
		o.AuditDir = dir
		o.Config.Audit.Keep, o.Config.Audit.MaxSize = 2, 1<<20
		o.Config.Policy.Deny = []string{"*.prompts/get"}
	}, fake("fake", "-resources"))
	out := k.run(Request{Code: rawAsk + "await ask('resources/read', uri='fake://text')\n" +
		"await ask('resources/read', uri='wrong://refuse')\nawait ask('prompts/get', name='greet')"})
	contains(t, out.compact(), "-32000 no such luck with", "-32004 policy denies fake.prompts/get")
	if got := out.Receipt.ByTool["fake.resources/read"]; got != (Tally{OK: 1, Failed: 1}) {
		t.Errorf("the receipt says %+v", out.Receipt.ByTool)
	}
	var lines []string
	if _, err := audit.Read(dir, func(r audit.Record, _ []byte) {
		if r.Event == audit.Called {
			lines = append(lines, r.Tool+" "+r.Outcome)
		}
	}); err != nil {
		t.Fatal(err)
	}
	want(t, strings.Join(lines, ", "), "resources/read ok, resources/read failed, prompts/get denied")
}

// TestResourcesInCode is about what code gets: the values of docs/guide/resources.md, over stdio and by URL.
func TestResourcesInCode(t *testing.T) {
	site := httptest.NewServer(fakemcp.Handler("-resources"))
	k := newKit(t, nil, fake("fake", "-resources", "-pages", "2"), config.Server{Name: "far", URL: site.URL + "/mcp"})
	t.Cleanup(func() { // before the kit looks for what is left: its sockets are this process's, too
		site.CloseClientConnections()
		site.Close()
	})
	for _, server := range []string{"mcp_fake", "mcp_far"} {
		for code, result := range map[string]string{
			"[r.name for r in await mcp_fake.resources.list()]":                           "['blob', 'dir', 'json', 'none', 'text']",
			"await mcp_fake.resources.read('fake://json')":                                `'{"n": 1}'`,
			"(await mcp_fake.resources.read('fake://blob'))[1:4]":                         "b'PNG'",
			"[str(r) for r in await mcp_fake.resources.read('fake://dir')][:2]":           "['text of fake://dir/a', 'text of fake://b']",
			"(await mcp_fake.resources.templates())[0].uriTemplate":                       "'fake://big/{bytes}'",
			"len(await mcp_fake.resources.read('fake://big/5000000'))":                    "5000000",
			"(await mcp_fake.prompts.list())[0].arguments[1].name":                        "'style'",
			"(await mcp_fake.prompts.get('greet', name='Ada')).messages[0]":               "{'role': 'user', 'content': 'Greet Ada. '}",
			"repr((await mcp_fake.prompts.get('greet', name='Ada')).messages[1].content)": "'<mcp.Image image/png, 70 bytes>'",
			"await mcp_fake.prompts.complete('greet', 'name', 'A')":                       "['ref/prompt', 'greet', 'name', 'A']",
			"await mcp_fake.resources.complete('fake://big/{bytes}', 'bytes')":            "['ref/resource', 'fake://big/{bytes}', 'bytes', '']",
			"len(await asyncio.gather(*(mcp_fake.resources.list() for _ in range(100))))": "100",
		} {
			want(t, k.text(strings.ReplaceAll(code, "mcp_fake", server)), "result: "+result)
		}
		for code, message := range map[string]string{
			"await mcp_fake.resources.read('fake://gone')": "resources/read(uri='fake://gone'): ",
			"await mcp_fake.prompts.get('greet')":          "prompts/get(name='greet', arguments={}): ",
		} {
			contains(t, k.text(strings.ReplaceAll(code, "mcp_fake", server)), "mcp.MCPError: "+server[4:]+"."+message)
		}
	}
}
