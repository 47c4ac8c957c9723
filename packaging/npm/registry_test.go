//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codemode/internal/require"
)

const registryConfig = `
storage: ./storage
auth: {htpasswd: {file: ./htpasswd}}
packages: {'**': {access: $all, publish: $authenticated}}
max_body_size: 500mb
web: {enable: false}
log: {type: stdout, format: json, level: warn}
`

// registry is a verdaccio on loopback that knows of no other: what it does not have, nobody gets.
func registry(t *testing.T) (url string) {
	t.Helper()
	program := filepath.Join(tools(), ".bin", "verdaccio")
	if _, err := os.Stat(program); err != nil {
		require.Lacking(t, "registry", "%v", err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(registryConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--listen", address, "--config", filepath.Join(dir, "config.yaml"))
	cmd.Dir = dir
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.Contains(lines.Text(), "http address") {
	}
	return "http://" + address
}

// signUp makes a user of the registry's, and returns what npm shows it to publish.
func signUp(t *testing.T, url string) (token string) {
	t.Helper()
	req, _ := http.NewRequest(http.MethodPut, url+"/-/user/org.couchdb.user:test",
		strings.NewReader(`{"name": "test", "password": "test-test"}`))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct{ Token string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Token == "" {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	return answer.Token
}

// user is somebody with an empty home, who has Node.js and nothing else.
type user struct {
	t    *testing.T
	home string
	env  []string
}

func newUser(t *testing.T, registry string) user {
	node := filepath.Dir(nodes(t)[0])
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	return user{t, home, []string{
		"HOME=" + home, "PATH=" + filepath.Join(home, "prefix", "bin") + ":" + node + ":/usr/bin:/bin",
		"npm_config_registry=" + registry, "npm_config_prefix=" + filepath.Join(home, "prefix"),
		"npm_config_update_notifier=false", "npm_config_audit=false", "npm_config_fund=false",
	}}
}

func (u user) write(name, text string) {
	u.t.Helper()
	name = filepath.Join(u.home, name)
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o600)
	}
	if err != nil {
		u.t.Fatal(err)
	}
}

// run is what a command says; one that fails ends the test.
func (u user) run(name string, args ...string) string {
	u.t.Helper()
	began := time.Now()
	cmd := exec.Command("/usr/bin/env", append([]string{"-i"}, append(u.env, append([]string{name}, args...)...)...)...)
	cmd.Dir = u.home
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		u.t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, &stderr)
	}
	u.t.Logf("%.1f s: %s %s", time.Since(began).Seconds(), name, strings.Join(args, " "))
	return strings.TrimSpace(string(out))
}

// TestInstalledFromARegistry publishes the packages to a registry on loopback, and has somebody with an empty home
// install codemode from there, get the first answer of a server, and remove it again.
func TestInstalledFromARegistry(t *testing.T) {
	url := registry(t)
	packages := t.TempDir()
	binary := filepath.Join(packages, "codemode")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "codemode/cmd/codemode")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, p := range platforms { // those of other platforms are never started
		program := binary
		if p.goos != "linux/amd64" {
			program = writeProgram(t, "exit 1")
		}
		if err := pack(filepath.Join(packages, "npm"), "1.0.0", p.goos, program); err != nil {
			t.Fatal(err)
		}
	}
	maker := newUser(t, url)
	maker.write(".npmrc", fmt.Sprintf("%s/:_authToken=%s\n", strings.TrimPrefix(url, "http:"), signUp(t, url)))
	made, _ := filepath.Glob(filepath.Join(packages, "npm", "*"))
	for _, dir := range made {
		maker.run("npm", "publish", dir)
	}

	u := newUser(t, url)
	server := filepath.Join(os.Getenv("CODEMODE_TEST_NPM"), "node_modules", ".bin", "mcp-server-memory")
	const entry = `{"mcpServers": {"memory": {"command": %q, "env": {"MEMORY_FILE_PATH": %q}}}}`
	u.write("MCPs/memory.json", fmt.Sprintf(entry, server, filepath.Join(u.home, "graph.json")))
	u.run("npm", "install", "-g", "codemode")
	installed, _ := filepath.Glob(filepath.Join(u.home, "prefix/lib/node_modules/codemode/node_modules/*"))
	if len(installed) != 1 || filepath.Base(installed[0]) != "codemode-linux-x64" {
		t.Errorf("there are %q", installed)
	}
	out := u.run("codemode", "exec", "--server", "memory", "-c", "print(await mcp_memory.read_graph())")
	if out != "{'entities': [], 'relations': []}" {
		t.Errorf("the first answer is %q", out)
	}
	u.run("codemode", "uninstall", "--everything", "--yes")
	u.run("npm", "uninstall", "-g", "codemode")
	if left := u.run("find", ".", "-path", "./.npm", "-prune", "-o", "-name", "*codemode*", "-print"); left != "" {
		t.Errorf("these are left: %s", left)
	}

	// One command, and nothing installed before: the entry starts codemode as it was started.
	u.write(".cursor/mcp.json", "{}\n")
	u.run("npx", "-y", "codemode", "install", "cursor")
	var client struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	text, _ := os.ReadFile(filepath.Join(u.home, ".cursor", "mcp.json"))
	if err := json.Unmarshal(text, &client); err != nil {
		t.Fatal(err)
	}
	e := client.Servers["codemode"]
	if got := e.Command + " " + strings.Join(e.Args, " "); got != "npx -y codemode serve" {
		t.Errorf("it starts %q", got)
	}
	u.run(e.Command, append(e.Args[:len(e.Args)-1], "version")...)
}
