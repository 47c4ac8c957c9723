package bridge

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/config"
	"codemode/internal/fakemcp"
)

// TestSubscribeInCode is about what code is told of changes of resources, over stdio and by URL.
func TestSubscribeInCode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seen")
	site := httptest.NewServer(fakemcp.Handler("-resources", "-subscriptions", file+".far"))
	k := newKit(t, func(o *Options) { o.Config.Policy.Deny = []string{"denied.resources/subscribe"} },
		fake("fake", "-resources", "-subscriptions", file), config.Server{Name: "far", URL: site.URL + "/stateless"},
		fake("denied", "-resources", "-subscriptions", file+".denied"), fake("mute", "-resources"))
	t.Cleanup(func() { // before the kit looks for what is left: its sockets are this process's, too
		site.CloseClientConnections()
		site.Close()
	})
	for _, server := range []string{"mcp_fake", "mcp_far"} {
		got := k.text(strings.ReplaceAll(`
async with mcp_fake.resources.subscribe('fake://text') as updates:
    await mcp_fake.touch(uri='fake://text', times=2)
    async for update in updates:
        print(update.uri, update.dropped)
        break
    try:
        await asyncio.wait_for(asyncio.gather(updates.__anext__(), updates.__anext__()), 0.3)
    except asyncio.TimeoutError:
        print("no third one")
    await mcp_fake.touch(uri='fake://text', times=1)
    print((await updates.__anext__()).uri)
print(updates)
`, "mcp_fake", server))
		want(t, got, "fake://text 0\nno third one\nfake://text\n<"+server+".resources.subscribe('fake://text'), ended>")
	}
	seen := func(text string) func() bool {
		return func() bool {
			data, _ := os.ReadFile(file)
			return string(data) == text
		}
	}
	k.eventually("the server is told", seen("begin fake://text\nend fake://text\n"))

	want(t, k.text("left = await mcp_fake.resources.subscribe({'uri': 'fake://blob'})\nawait mcp_fake.touch(uri='fake://blob', times=250)\n"+
		"await asyncio.sleep(0.2)\nprint((await left.__anext__()).dropped > 100, (await left.__anext__()).dropped)"), "True 0")
	k.eventually("what is left ends with its run", seen("begin fake://text\nend fake://text\nbegin fake://blob\nend fake://blob\n"))
	contains(t, k.text("await left.__anext__()\nawait left.__anext__()\n"+strings.Repeat("await left.__anext__()\n", 120)),
		"mcp.MCPError", "the subscription has ended with its run")
	contains(t, k.text("await mcp_fake.resources.subscribe('fake://private')"), "mcp.MCPError: ", "nobody is told of fake://private")
	contains(t, k.text("await mcp_mute.resources.subscribe('fake://text')"), `mcp.MCPError: server "mute" does not tell of changes`)
	contains(t, k.text("await mcp_denied.resources.subscribe('fake://text')"),
		`mcp.PolicyError: policy denies denied.resources/subscribe: it fits "denied.resources/subscribe" of policy.deny`)
	contains(t, k.text("for n in range(65): await mcp_fake.resources.subscribe(f'fake://{n}')"), "the run has 64 subscriptions")
	contains(t, k.text("mcp_fake.resources.subscribe(7)"), "TypeError: uri must be a str")
}
