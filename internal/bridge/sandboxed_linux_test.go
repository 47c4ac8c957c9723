package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"codemode/internal/bridge/bridgetest"
	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/proc"
	"codemode/internal/proc/proctest"
	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
	"codemode/internal/upstream"
)

// restrictedPool is servers within restrictions, of a user whose home has a key in it.
type restrictedPool struct {
	*upstream.Pool
	t         *testing.T
	home, key string
	dir       string // outside of the home
	changed   chan string
}

// newRestrictedPool makes a pool of the servers, and proves at the end that they are gone.
func newRestrictedPool(t *testing.T, servers func(p *restrictedPool) []config.Server) *restrictedPool {
	t.Helper()
	base := t.TempDir()
	p := &restrictedPool{
		t: t, home: base + "/home", key: base + "/home/.ssh/key", dir: base + "/dir", changed: make(chan string, 10),
	}
	err := errors.Join(
		os.MkdirAll(filepath.Dir(p.key), 0o700), os.Mkdir(p.dir, 0o700), os.WriteFile(p.key, []byte("the key"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) {
		switch name {
		case "HOME":
			return p.home, true
		case "PATH":
			return "/usr/local/bin:/usr/bin:/bin", true
		case "DIR":
			return p.dir, true
		}
		return "", false
	}
	list, mark := servers(p), proctest.Mark(t)
	for i := range list {
		if bridgetest.IsFake(list[i]) {
			list[i].Command = ownCopy(t, list[i].Command)
		}
		list[i] = with(list[i], proctest.Variable, mark)
	}
	p.Pool = upstream.NewPool(upstream.Options{
		Servers: list, Lookup: lookup, StartTimeout: patience, CallTimeout: patience,
		Expand: func(s config.Server, resolved func(variable, value string)) (config.Server, error) {
			return clientcfg.Expand(
				s, clientcfg.Resolver{OS: runtime.GOOS, Home: p.home, Lookup: lookup, Resolved: resolved},
			)
		},
		Sandbox: startRestricted(
			Options{Protected: func() []string { return []string{p.home + "/.config/codemode"} }, Homes: []string{p.home}},
		),
		OnToolsChanged: func(server string) { p.changed <- server },
	})
	t.Cleanup(func() { p.Close() })
	return p
}

// ownCopy is the test binary where this user can reach it.
func ownCopy(t *testing.T, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return path
	}
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path = t.TempDir() + "/fake"
	if err := os.WriteFile(path, b, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// call returns the text of a tool's answer, or of its failure.
func (p *restrictedPool) call(server, tool, args string) string {
	p.t.Helper()
	raw, err := p.Call(p.t.Context(), server, tool, json.RawMessage(args))
	var start *upstream.StartError
	if errors.As(err, &start) {
		return err.Error() + "\n" + start.Stderr + "\n" + start.SandboxHint()
	}
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// eachUser runs a test as root and as an ordinary user, and proves that nothing is left.
func eachUser(t *testing.T, test func(t *testing.T)) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		p, err := proc.Start(
			t.Context(), proc.Spec{Path: "/bin/true", Dir: "/", Start: startRestricted(Options{})(config.Restrictions{}, "")},
		)
		var unavailable *sandbox.UnavailableError
		if errors.As(err, &unavailable) {
			require.Lacking(t, "native", "%v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = p.Stop(time.Second)
		before := sandboxtest.TakeLeftovers(t)
		t.Run("servers", test)
		before.Check(t)
	})
}

// TestSandboxedServer holds that a server in a sandbox is a server like any other: shared, restarted, told of changes.
func TestSandboxedServer(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		p := newRestrictedPool(t, func(p *restrictedPool) []config.Server {
			plain := fake("plain", "-starts", p.dir+"/starts")
			plain.Sandbox = &config.Restrictions{Write: []string{"${DIR}"}}
			dies := fake("dies", "-exit-at-start", "3")
			dies.Sandbox = &config.Restrictions{}
			lost := fake("lost")
			lost.Sandbox = &config.Restrictions{Read: []string{"~/none"}}
			stays := fake("stays", "-spawn-child", "-ignore-eof", "-ignore-term")
			stays.Sandbox = &config.Restrictions{}
			return []config.Server{plain, dies, lost, stays}
		})
		done := make(chan string)
		for i := range 8 {
			go func() { done <- p.call("plain", "echo", fmt.Sprintf(`{"message":"hi %d"}`, i)) }()
		}
		for range 8 {
			contains(t, <-done, "hi ")
		}
		if b, err := os.ReadFile(p.dir + "/starts"); strings.Count(string(b), "\n") != 1 {
			t.Errorf("it was started %q, %v", b, err)
		}
		p.call("plain", "grow", `{}`)
		select {
		case <-p.changed:
		case <-time.After(patience):
			t.Error("its tools have changed, and nobody is told")
		}
		contains(t, p.call("plain", "crash", `{}`), "the server ended during the call")
		contains(t, p.call("plain", "add", `{"a":1,"b":2}`), "3")
		contains(t, p.call("dies", "echo", `{}`), "exit status 3", "fakemcp: cannot start")
		contains(t, p.call("lost", "echo", `{}`), "sandbox_read names", p.home+"/none", "no such file or directory")
		contains(t, p.call("stays", "echo", `{"message":"here"}`), "here")
	})
}

// pythonServer is a server of the standard library alone that reads files and asks for URLs.
const pythonServer = `
import json, sys, urllib.request
def use(name, args):
    if name == "read":
        return open(args["path"]).read()
    return urllib.request.urlopen(args["url"], timeout=20).read().decode()
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "py", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("read", "get")]}
    else:
        try:
            r = {"content": [{"type": "text", "text": use(m["params"]["name"], m["params"]["arguments"])}]}
        except OSError as e:
            r = {"content": [{"type": "text", "text": str(e)}], "isError": True}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

func TestSandboxedPython(t *testing.T) {
	const python = "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		require.Lacking(t, "python", "%v", err)
	}
	eachUser(t, func(t *testing.T) {
		web := httptest.NewServer(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "from the web") }),
		)
		defer web.Close()
		p := newRestrictedPool(t, func(p *restrictedPool) []config.Server {
			server := func(name string, restrictions *config.Restrictions) config.Server {
				return config.Server{
					Name: name, Command: "python3", Args: []string{p.dir + "/server.py"}, Sandbox: restrictions,
				}
			}
			return []config.Server{
				server("off", &config.Restrictions{Read: []string{p.dir}}),
				server("on", &config.Restrictions{Read: []string{p.dir}, Network: true}),
				server("blind", &config.Restrictions{}),
			}
		})
		if err := os.WriteFile(p.dir+"/server.py", []byte(pythonServer), 0o600); err != nil {
			t.Fatal(err)
		}
		contains(t, p.call("on", "get", `{"url":"`+web.URL+`"}`), "from the web")
		contains(t, p.call("off", "get", `{"url":"`+web.URL+`"}`), "Permission denied")
		contains(t, p.call("off", "read", `{"path":"`+p.dir+`/server.py"}`), "import json")
		contains(t, p.call("off", "read", `{"path":"`+p.key+`"}`), "No such file or directory")
		contains(
			t,
			p.call("blind", "read", `{}`),
			"can't open file",
			"No such file or directory",
			"what sandbox_read and sandbox_write name",
		)
	})
}

// TestSandboxedNPM runs servers that nobody here wrote: a folder that one is told to allow is refused by its sandbox
// all the same, and what the other keeps stays in the folder that it may write to.
func TestSandboxedNPM(t *testing.T) {
	var command [2]string
	for i, name := range []string{"mcp-server-filesystem", "mcp-server-memory"} {
		path, err := exec.LookPath(name)
		if err != nil {
			require.Lacking(t, "npm", "%v", err)
		}
		command[i] = path
	}
	eachUser(t, func(t *testing.T) {
		start := func(p *restrictedPool) []config.Server {
			restrictions := &config.Restrictions{Write: []string{p.dir}}
			return []config.Server{
				{Name: "files", Command: command[0], Args: []string{p.dir, p.home + "/.ssh"}, Sandbox: restrictions},
				{
					Name: "memory", Command: command[1],
					Env: map[string]string{"MEMORY_FILE_PATH": p.dir + "/memory.json"}, Sandbox: restrictions,
				},
				{
					Name: "nowhere", Command: command[1],
					Env:     map[string]string{"MEMORY_FILE_PATH": p.dir + "/memory.json"},
					Sandbox: &config.Restrictions{Read: []string{p.dir}},
				},
			}
		}
		p := newRestrictedPool(t, start)
		if err := os.WriteFile(p.dir+"/a.txt", []byte("some text"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ server, tool, args, want string }{
			{"files", "read_text_file", `{"path":"` + p.dir + `/a.txt"}`, "some text"},
			{"files", "write_file", `{"path":"` + p.dir + `/b.txt","content":"written"}`, "Successfully"},
			{"files", "read_text_file", `{"path":"` + p.key + `"}`, `"isError":true`},
			{"files", "write_file", `{"path":"` + p.home + `/.ssh/other","content":"x"}`, `"isError":true`},
			{"memory", "create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["writes"]}]}`, "Ada"},
			{"nowhere", "read_graph", `{}`, "Ada"},
			{"nowhere", "create_entities", `{"entities":[{"name":"Eve","entityType":"person","observations":[]}]}`, "EROFS"},
		} {
			if got := p.call(c.server, c.tool, c.args); !strings.Contains(got, c.want) ||
				strings.Contains(got, "the key") {
				t.Errorf("%s.%s: %s, want %q", c.server, c.tool, got, c.want)
			}
		}
		for name, want := range map[string]string{"b.txt": "written", "memory.json": "Ada"} {
			if b, err := os.ReadFile(filepath.Join(p.dir, name)); !strings.Contains(string(b), want) {
				t.Errorf("%s is %q, %v", name, b, err)
			}
		}
		if _, err := os.Lstat(p.home + "/.ssh/other"); err == nil {
			t.Error("it wrote into the home")
		}
	})
}
