package bridge

import (
	"slices"
	"strings"
	"testing"

	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/servers"
)

// remote is a server that is configured and that code cannot be given.
var remote = servers.Unusable{
	Name: "remote",
	Err: hint.New(`server "remote" cannot be used (needs-approval): it came with the project "/home/me/x"`,
		"codemode servers show remote", "codemode servers approve remote"),
}

const whyNotRemote = `server "remote" cannot be used (needs-approval): it came with the project "~/x"; ` +
	`the user can: codemode servers show remote, codemode servers approve remote`

const (
	valueItself = "a call returns the tool's value itself, already parsed (.raw(...) has the envelope)"
	noInstall   = "nothing can be installed here: do it with the standard library, " +
		"or the user adds what is missing (codemode packages add NAME)"
	writable = "only /workspace and /tmp can be written, and end with the session; " +
		"a server's tool may write it: `await runtime.search_tool_docs('write a file')`"
)

// deadEnds are what code runs into, and the last line of what it is told: each has what to do instead.
var deadEnds = []struct{ name, code, want string }{
	{
		"a server that cannot be used", "await mcp_remote.fetch()",
		"NameError: name 'mcp_remote' is not defined (" + whyNotRemote + ")",
	},
	{"the same by its real name", "mcp_servers['remote']", "mcp.ServerError: " + whyNotRemote},
	{
		"the same, imported", "from mcp.servers.remote import *",
		"ModuleNotFoundError: No module named 'mcp.servers.remote'; " + whyNotRemote,
	},
	{"the same, by call_tool", "await runtime.call_tool('remote', 'fetch')", "mcp.ServerError: " + whyNotRemote},
	{
		"a member is missing", "await mcp_zoo.relate([{'from': 'a', 'target': 'b'}])",
		"TypeError: relate() argument 'relations[0]' is missing 'to' (it has 'target'); " +
			"it is relate(relations: list[{from: str, to: str, note?: str}]) -> Any",
	},
	{
		"a package",
		"import polars",
		"ModuleNotFoundError: No module named 'polars'; nothing can be installed here: do it with the standard library " +
			"(csv, sqlite3, statistics), or the user adds it (codemode packages add polars)",
	},
	{
		"a file of the machine",
		"open('/home/me/notes.txt')",
		"FileNotFoundError: [Errno 2] No such file or directory: '/home/me/notes.txt'; no file of this machine is in the sandbox; " +
			"a server's tool may read it: `await runtime.search_tool_docs('read a file')`",
	},
	{
		"a file where code could have one",
		"open('/workspace/data.csv')",
		"FileNotFoundError: [Errno 2] No such file or directory: '/workspace/data.csv'; " +
			"no file of this machine is in the sandbox; " +
			"a server's tool may read it: `await runtime.search_tool_docs('read a file')`",
	},
	{
		"the same, in the other folder",
		"open('/tmp/data.csv')",
		"FileNotFoundError: [Errno 2] No such file or directory: '/tmp/data.csv'; " +
			"no file of this machine is in the sandbox; " +
			"a server's tool may read it: `await runtime.search_tool_docs('read a file')`",
	},
	{
		"the network by a program", "import subprocess; subprocess.run(['/nowhere/curl', 'http://example.com'])",
		"FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/curl'; the sandbox has no network; " +
			"a server's tool may have one: `await runtime.search_tool_docs('fetch a page')`",
	},
	{
		"the network",
		"import urllib.request; urllib.request.urlopen('http://example.com')",
		"urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>; the sandbox has no network; " +
			"a server's tool may have one: `await runtime.search_tool_docs('fetch a page')`",
	},
	{
		"an address", "import socket; socket.create_connection(('192.0.2.1', 80))",
		"PermissionError: [Errno 13] Permission denied; the sandbox has no network; " +
			"a server's tool may have one: `await runtime.search_tool_docs('fetch a page')`",
	},
	{
		"a server, imported", "import mcp_fake",
		"ModuleNotFoundError: No module named 'mcp_fake'; mcp_fake is there already: " +
			"drop the import, and write `await mcp_fake.TOOL(...)`",
	},
	{
		"a tool, imported", "from mcp_fake import echo",
		"ModuleNotFoundError: No module named 'mcp_fake'; mcp_fake is there already: " +
			"drop the import, and write `await mcp_fake.echo(...)`",
	},
	{
		"a server that is not there, imported by a name as code has it", "import mcp_nobody",
		"ModuleNotFoundError: No module named 'mcp_nobody'; what codemode gives needs no import: " +
			"`await runtime.list_servers()`, `await mcp_SERVER.TOOL(...)`",
	},
	{
		"a server, imported by its name", "import fake",
		"ModuleNotFoundError: No module named 'fake'; mcp_fake is there already: " +
			"drop the import, and write `await mcp_fake.TOOL(...)`",
	},
	{
		"a server that is not there, imported",
		"from mcp.servers import fakes",
		"ImportError: cannot import name 'fakes' from 'mcp.servers' (/codemode/mcp/servers/__init__.py); did you mean `mcp_fake`?",
	},
	{
		"a part of the SDK", "from mcp import ClientSession",
		"ImportError: cannot import name 'ClientSession' from 'mcp' (/codemode/mcp/__init__.py); " +
			"this `mcp` is codemode's, whose servers are connected: `await mcp_SERVER.TOOL(...)`",
	},
	{
		"a helper's name",
		"await runtime.search_tools('read')",
		"AttributeError: module 'mcp.runtime' has no attribute 'search_tools'; did you mean `runtime.search_tool_docs`?",
	},
	{
		"a variable of the machine",
		"import os; os.environ['GITHUB_TOKEN']",
		"KeyError: 'GITHUB_TOKEN'; no variable of this machine is in the sandbox: a server that needs a key has it already",
	},
	{
		"a database of the machine", "import sqlite3; sqlite3.connect('/data/x.db')",
		"sqlite3.OperationalError: unable to open database file; " + writable,
	},
	{
		"an installation", "!pip install pandas",
		"SyntaxError: invalid syntax; " + noInstall,
	},
	{
		"an installation by a program",
		"import subprocess, sys; subprocess.run([sys.executable, '-m', 'pip', 'install', '--no-index', 'pandas'])",
		"note: " + noInstall,
	},
	{"an installation by a shell", "import os; os.system('pip3 install -q --no-index pandas')", "note: " + noInstall},
	{
		"a folder of the machine", "open('/work/notes.txt', 'w')",
		"FileNotFoundError: [Errno 2] No such file or directory: '/work/notes.txt'; " + writable,
	},
	{
		"a folder of the system", "import os; os.mkdir('/work')",
		"OSError: [Errno 30] Read-only file system: '/work'; " + writable,
	},
	{
		"a drive of Windows", `open('C:\\notes.txt', 'w').close()`,
		`note: C:\notes.txt in /workspace will be lost with the session: print what is to be kept`,
	},
	{
		"a member of a result", "(await mcp_fake.structured())['sums']",
		"KeyError: 'sums' (it has 'age', 'name', 'tags')",
	},
	{
		"a result's envelope", "r = await mcp_fake.structured()\nr['content'][0]['text']",
		"KeyError: 'content' (it has 'age', 'name', 'tags'); " + valueItself,
	},
	{
		"the same of a text", "r = await mcp_fake.echo(message='x')\nr['content'][0]['text']",
		"TypeError: string indices must be integers, not 'str'; " + valueItself,
	},
	{
		"the same as an attribute", "r.content",
		"AttributeError: 'str' object has no attribute 'content'; " + valueItself,
	},
	{
		"JSON of a result", "import json\njson.loads(await mcp_fake.structured())",
		"TypeError: the JSON object must be str, bytes or bytearray, not AttrDict; " + valueItself,
	},
	{"a text's own index", "'x'['y']", "TypeError: string indices must be integers, not 'str'"},
	{
		"much memory", "raise MemoryError",
		"MemoryError; the sandbox may use 512 MB: work in pieces, or the user raises sandbox.memory",
	},
	{"a code fence", "```python\n6 * 7\n```", "result: 42"},
	{
		"help", "help()",
		"Python with top-level await in a sandbox without network; variables persist within a session. " +
			"MCP servers of this run: fake, zoo, broken. Each is an object: `await mcp_<alias>.<tool>(…)`, " +
			"also `mcp_servers[\"name\"]`. `await runtime.search_tool_docs(\"what to do\")` finds tools, " +
			"`await runtime.query_tool_docs(server)` lists those of a server, help(mcp_<alias>.<tool>) explains one. " +
			"`save_tool(function)` keeps a function for later sessions: `from tools import name`.",
	},
	{
		"a text for a number", "await mcp_fake.add(a='one', b=2)",
		"TypeError: add() argument 'a' must be a number, not 'one'; it is add(a: float, b: float) -> Any",
	},
	{
		"a tool of many", "await asyncio.gather(mcp_fake.echo(message='x'), mcp_fake.fail(message='no such page'))",
		"mcp.ToolError: fake.fail(message='no such page'): no such page",
	},
	{
		"the others of many",
		"await asyncio.gather(mcp_fake.slow(ms=60000), mcp_fake.fail(message='no'))",
		"note: cancelled task mcp_fake.slow that ran beside the one that failed: asyncio.gather(..., return_exceptions=True) lets them all end",
	},
	{
		"a search that finds nothing",
		"print(await runtime.search_tool_docs('zzzz qqqq'))",
		"nothing found for 'zzzz qqqq': try the words of a tool's description, or `await runtime.query_tool_docs('<server>')`; servers: fake, zoo",
	},
	{"a long value", "['x' * 100] * 200", "`_` is the whole value)"},
	{"the same, read on", "len(_)", "result: 200"},
	{
		"a long output", "for n in range(20000): print('line', n)",
		"/stdout; better: assign what is large to a variable, and print a part of it",
	},
	{
		"a server that does not start", "await mcp_broken.fetch()",
		`mcp.MCPError: server "broken": starting: command "/nowhere/server" does not exist; ` +
			`the user can change that, or its entry in "~/servers.json"`,
	},
	{
		"the same, again and again", "said = set()\nfor _ in range(4):\n    try: await mcp_broken.fetch()\n" +
			"    except mcp.MCPError as error: said.add(str(error))\nprint(*said)",
		`server "broken": starting: command "/nowhere/server" does not exist; ` +
			`the user can change that, or its entry in "~/servers.json"`,
	},
	{
		"a search beside it", "print(await runtime.search_tool_docs('zzzz'))",
		`note: the search did not see the tools of server "broken": starting: command "/nowhere/server" does not exist`,
	},
	{
		"a program that is not there",
		"import subprocess; subprocess.run(['frobnicate'])",
		"FileNotFoundError: [Errno 2] No such file or directory: 'frobnicate'; the sandbox has no program 'frobnicate': " +
			"do it in Python, or with a server's tool",
	},
}

func checkDeadEnds(t *testing.T, k *kit) {
	for _, d := range deadEnds {
		out := k.run(Request{Session: "dead ends", Code: d.code})
		lines := strings.Split(out.compact(), "\n")
		told := slices.ContainsFunc(lines, func(line string) bool {
			return line == d.want || line == "error: "+d.want ||
				strings.HasPrefix(d.name, "a long") && strings.HasSuffix(line, d.want)
		})
		if !told {
			t.Errorf("%s: got\n%s\nwithout the line\n%s", d.name, out.compact(), d.want)
		}
	}
	out := k.run(Request{Code: "1", Servers: []string{"remote"}})
	want(
		t,
		out.compact(),
		"status: validation_error\nexit: 2\nerror: servers: server \"remote\" cannot be used (needs-approval): it came with the project \"/home/me/x\"\n"+
			"hint: codemode servers show remote\nhint: codemode servers approve remote",
	)
	k.servers.Update(servers.NewSet(k.servers.Configured().All, nil))
	out = k.run(Request{Session: "dead ends", Code: "await mcp_remote.fetch()"})
	contains(t, out.compact(), "NameError: name 'mcp_remote' is not defined (there are mcp_fake, mcp_zoo, mcp_broken)")
}

func withRemote(o *Options) {
	usable := o.Servers
	o.Servers = func() *servers.Set { return servers.NewSet(usable().All, []servers.Unusable{remote}) }
	o.Homes = []string{"/home/me"} // which code is not told of
}

func deadEndServers() []config.Server {
	return []config.Server{
		fake("fake"), fake("zoo", "-schema-zoo"),
		{Name: "broken", Command: "/nowhere/server", Source: "/home/me/servers.json"},
	}
}

func TestDeadEnds(t *testing.T) {
	k := newKit(t, withRemote, deadEndServers()...)
	checkDeadEnds(t, k)
	out := k.run(Request{Code: "import tkinter"})
	contains(
		t, out.compact(), "No module named 'tkinter'; this Python is built without that part of the standard library",
	)
}

func TestContainersDeadEnds(t *testing.T) {
	onEachEngineWith(t, withRemote, checkDeadEnds, deadEndServers()...)
}
