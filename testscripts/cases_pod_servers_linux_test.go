package testscripts

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codemode/internal/sandbox/sandboxtest"
)

// podServer is an MCP server in Python, with the tool eval.
const podServer = `
import json, os, sys
TOOLS = [{"name": "eval", "inputSchema": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}}]
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "pod", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": TOOLS}
    elif m["method"] == "tools/call":
        r = {"content": [{"type": "text", "text": str(eval(m["params"]["arguments"]["code"]))}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

// stays has a server go on when it should end.
const stays = `
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True: time.sleep(3600)
`

// withPodServers is a program with guests of the native runtime and servers in pods: two that work, one that does not
// end, one whose image has no such program, and one whose image is not there.
func withPodServers(t *testing.T) program {
	sandboxtest.NeedCluster(t)
	entry := func(image, command, more string) map[string]any {
		return map[string]any{
			"command": command, "args": []string{"-c", podServer + more}, "env": map[string]string{"WORD": "it's\na secret"},
			"sandbox": "kubernetes", "sandbox_image": image, "sandbox_network": true, "sandbox_memory": "256m",
		}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"pod": entry(sandboxtest.PodImage(), "python3", ""), "stays": entry(sandboxtest.PodImage(), "python3", stays),
		"other": entry(sandboxtest.PodImage(), "python3", ""),
		"lacks": entry(sandboxtest.PodImage(), "no-such-program", ""), "none": entry("NONE", "python3", ""),
	}})
	file := filepath.Join(t.TempDir(), "servers.json")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return newProgram(t, "kubernetes", "kubernetes").with(
		"CODEMODE_SANDBOX_RUNTIME=native", "CODEMODE_SANDBOX_IMAGE=", "MCP_SERVERS_CONFIG="+file,
	)
}

// TestPodsServe: a server runs in a pod of its own, which ends with it. Nobody who may look at pods reads what it was
// started with.
func TestPodsServe(t *testing.T) {
	p := withPodServers(t)
	serve := p.command("serve")
	cs := connect(t, serve)
	text, failed, err := runPython(t.Context(), cs, `
there = await mcp_pod.eval(code="os.uname().nodename, os.getgid(), os.environ['WORD'], os.environ.get('USER')")
first = await mcp_pod.eval(code="os.uname().nodename")
print(there)`)
	pods, perr := exec.Command("kubectl", "get", "pods", podsOf(serve.Process.Pid), "--output=json").CombinedOutput()
	if err != nil || failed || !strings.Contains(text, `65534, "it's\na secret", None`) || !strings.Contains(text, "codemode-") {
		t.Errorf("%v: %s", err, text)
	}
	if perr != nil || !strings.Contains(string(pods), "codemode.server") || strings.Contains(string(pods), "secret\"") ||
		strings.Contains(string(pods), "WORD") {
		t.Errorf("its pod: %v: %s", perr, pods)
	}
	text, _, err = runPython(t.Context(), cs, `
for server in mcp_lacks, mcp_none:
    try: print(await server.eval(code="1"))
    except Exception as e: print(e)`)
	for _, want := range []string{"no-such-program", "InvalidImageName", "its `sandbox_image`"} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%v: want %q in: %s", err, want, text)
		}
	}
	if out, err := exec.Command("kubectl", "delete", "pods", podsOf(serve.Process.Pid), "--wait=false").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	text, _, err = runPython(t.Context(), cs, `
import asyncio
for _ in range(200):
    try: now = await mcp_pod.eval(code="os.uname().nodename")
    except Exception as e: now = first; print(e)
    if now != first: break
    await asyncio.sleep(0.1)
print("another" if now != first else "the same")`)
	if err != nil || !strings.Contains(text, "another") {
		t.Errorf("after its pod was deleted: %v: %s", err, text)
	}
	t.Log(text)
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	p.leavesNone(t, serve.Process.Pid)
}

// TestPodsServeWrite: a server writes to its folders, which are in memory, and to devices. What else its pod lets it
// write to, the termination log and volumes of its image, would be the node's disk.
func TestPodsServeWrite(t *testing.T) {
	p := withPodServers(t)
	serve := p.command("serve")
	cs := connect(t, serve)
	text, failed, err := runPython(t.Context(), cs, `
def sh(script):
    return f"__import__('subprocess').run(['sh', '-c', {script!r}], capture_output=True, text=True).stderr"
for at in ("/tmp", "/dev/shm", "$HOME"):
    print(await mcp_pod.eval(code=sh(f"cd {at} && mkdir -p c/d && echo 'echo ran >&2' >c/f && mv c/f c/d/f && chmod +x c/d/f && c/d/f && rm -r c")))
print(await mcp_pod.eval(code=sh("echo >/dev/null && echo >/dev/zero && echo open >&2")))
print(await mcp_pod.eval(code="__import__('os').openpty() and 'pty'"))
print(await mcp_pod.eval(code=sh("test -w /dev/termination-log && echo there >&2; echo x >/dev/termination-log")))`)
	if err != nil || failed || strings.Count(text, "ran\n") != 3 {
		t.Errorf("in its folders: %v: %s", err, text)
	}
	for _, want := range []string{"open\n", "pty", "there\n", "Permission denied"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in: %s", want, text)
		}
	}
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	p.leavesNone(t, serve.Process.Pid)
}

// TestPodsServeApart: what the kernel counts by user, one server does not take from another. It has as many processes as
// it would have natively, and cannot have more.
func TestPodsServeApart(t *testing.T) {
	p := withPodServers(t)
	serve := p.command("serve")
	cs := connect(t, serve)
	text, failed, err := runPython(t.Context(), cs, `
watches = "[__import__('ctypes').CDLL(None).inotify_init1(0) for _ in range(%d)].count(-1) > 0"
print("used up:", await mcp_other.eval(code=watches % 5000), await mcp_pod.eval(code=watches % 1))
print("users:", len({await s.eval(code="os.getuid()") for s in (mcp_pod, mcp_other)} - {"65534"}))
begin = """
import threading, time
threading.stack_size(32768)
try:
    while True: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
except RuntimeError: pass
"""
print("begun:", 900 < int(await mcp_other.eval(code=f"exec({begin!r}) or len(os.listdir('/proc/self/task'))")) < 1024)
print("beside:", await mcp_pod.eval(code="os.wait4(os.posix_spawn('/bin/true', ['true'], {}), 0)[1]"))
raise_it = "import os, resource; resource.prlimit(%s, resource.RLIMIT_NPROC, (1024, 1025))"
for whose in 1, 0, "os.getppid()":
    code = f"__import__('subprocess').run(['python3', '-c', {raise_it % whose!r}]).returncode"
    print("raised:", await mcp_pod.eval(code=code))`)
	if err != nil || failed || strings.Count(text+"\n", "raised: 1\n") != 3 {
		t.Errorf("%v: %s", err, text)
	}
	for _, want := range []string{"used up: True False\n", "users: 2\n", "begun: True\n", "beside: 0\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in: %s", want, text)
		}
	}
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	p.leavesNone(t, serve.Process.Pid)
}

// TestPodsServeKilled: the pod of a server whose codemode was killed ends by itself, whatever the server does, and so
// does kubectl here.
func TestPodsServeKilled(t *testing.T) {
	p := withPodServers(t)
	serve := p.command("serve")
	cs := connect(t, serve)
	if text, failed, err := runPython(t.Context(), cs, `
print(await mcp_pod.eval(code="1"), await mcp_stays.eval(code="1"))`); failed {
		t.Fatalf("%v: %s", err, text)
	}
	ask := func(path string) string {
		out, err := exec.Command("kubectl", "get", "pods", podsOf(serve.Process.Pid), "--output=jsonpath={.items[*]"+path+"}").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	pods := strings.Fields(ask(".metadata.name"))
	here := func() (list []string) {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			line, _ := os.ReadFile(file) // it may have ended
			if slices.ContainsFunc(pods, func(name string) bool { return strings.Contains(string(line), name) }) {
				list = append(list, strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
		return list
	}
	if len(pods) != 2 || len(here()) < 2 {
		t.Errorf("pods %q, here %q: this test would prove nothing", pods, here())
	}
	_ = serve.Process.Kill()
	for deadline := time.Now().Add(time.Minute); ; {
		phases, processes := ask(".status.phase"), here()
		if !strings.Contains(phases, "Running") && len(processes) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("pods %s, processes here %q", phases, processes)
		}
	}
}
