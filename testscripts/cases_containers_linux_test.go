package testscripts

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"codemode/internal/require"
	"codemode/internal/sandbox/sandboxtest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

// program is codemode with an engine as its runtime, in an environment of its own.
type program struct {
	engine string // its command
	env    []string
}

// eachEngine runs a test with every engine that is there and has the image.
func eachEngine(t *testing.T, test func(t *testing.T, p program)) {
	sandboxtest.EachEngine(t, withEngine(test))
}

// eachContainer is eachEngine, and then the pods of a cluster.
func eachContainer(t *testing.T, test func(t *testing.T, p program)) {
	sandboxtest.EachContainer(t, withEngine(test))
}

func withEngine(test func(t *testing.T, p program)) func(t *testing.T, engine, feature string) {
	return func(t *testing.T, engine, feature string) { test(t, newProgram(t, engine, feature)) }
}

func newProgram(t *testing.T, engine, feature string) program {
	t.Helper()
	dir := t.TempDir()
	image := cmp.Or(os.Getenv("CODEMODE_TEST_IMAGE"), "localhost/codemode-test:latest")
	if engine == "kubernetes" {
		image = sandboxtest.PodImage()
	}
	p := program{engine: engine}
	for _, v := range os.Environ() { // what an engine needs of it; nothing that changes what codemode does
		if !strings.HasPrefix(v, "CODEMODE_") && !strings.HasPrefix(v, "MCP_") {
			p.env = append(p.env, v)
		}
	}
	p = p.with(
		"CODEMODE_SANDBOX_RUNTIME="+engine, "CODEMODE_DISCOVERY_SOURCES=none", "CODEMODE_MCP_DIR="+dir,
		"CODEMODE_SANDBOX_IMAGE="+image,
		"XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "XDG_STATE_HOME="+filepath.Join(dir, "state"),
	)
	if engine == "kubernetes" {
		return p // nodes fetch images themselves
	}
	var images []struct {
		Runtime, Error string
		Present        bool
	}
	out, err := p.command("image", "--json", "--runtime", engine).Output()
	if err := errors.Join(err, json.Unmarshal(out, &images)); err != nil || len(images) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if !images[0].Present {
		require.Lacking(t, feature, "no image: %s", images[0].Error)
	}
	return p
}

func (p program) with(env ...string) program {
	p.env = append(p.env[:len(p.env):len(p.env)], env...)
	return p
}

func (p program) command(args ...string) *exec.Cmd {
	cmd := exec.Command("codemode", args...)
	cmd.Env = p.env
	return cmd
}

// containers lists those of a codemode by its pid.
func (p program) containers(t *testing.T, pid int) []string {
	t.Helper()
	return sandboxtest.ContainersOf(t, p.engine, pid)
}

// connect starts codemode serve and a client for it.
func connect(t *testing.T, cmd *exec.Cmd) *mcp.ClientSession {
	t.Helper()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

func runPython(ctx context.Context, cs *mcp.ClientSession, code string) (text string, failed bool, err error) {
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "run_python", Arguments: map[string]any{"code": code}})
	if err != nil {
		return "", true, err
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError, nil
}

// stubborn prints a word and then neither ends nor is interrupted.
const stubborn = `
import time
print("ready", flush=True)
while True:
    try: time.sleep(999)
    except BaseException: pass
`

// TestContainersEnd is case 50 for exec: however a run ends, no container is left.
func TestContainersEnd(t *testing.T) {
	t.Parallel()
	eachContainer(t, func(t *testing.T, p program) {
		for _, c := range []struct {
			name   string
			args   []string
			signal syscall.Signal
		}{
			{"deadline", []string{"--timeout", "3s"}, 0},
			{"TERM", nil, syscall.SIGTERM},
			{"HUP", nil, syscall.SIGHUP},
			{"KILL", nil, syscall.SIGKILL},
		} {
			t.Run(c.name, func(t *testing.T) {
				cmd := p.command(append([]string{"exec", "-c", stubborn}, c.args...)...)
				stdout, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer cmd.Process.Kill()
				if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
					t.Fatalf("it printed %q, %v", line, err)
				}
				if len(p.containers(t, cmd.Process.Pid)) != 1 {
					t.Error("its container cannot be found: this test would prove nothing")
				}
				if c.signal != 0 {
					if err := cmd.Process.Signal(c.signal); err != nil {
						t.Fatal(err)
					}
				}
				_, _ = io.Copy(io.Discard, stdout)
				err = cmd.Wait()
				if code := cmd.ProcessState.ExitCode(); c.signal == 0 && code != 124 {
					t.Errorf("it ended with %d, %v", code, err)
				}
				if c.signal == syscall.SIGKILL { // who is dead cleans up no more: the next start does
					if out, err := p.command("exec", "-c", "pass").CombinedOutput(); err != nil {
						t.Errorf("the next start: %v: %s", err, out)
					}
					for end := time.Now().Add(20 * time.Second); len(p.containers(t, cmd.Process.Pid)) > 0 && time.Now().Before(end); {
					}
				}
				if left := p.containers(t, cmd.Process.Pid); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		}
	})
}

// TestContainersServe is case 50 for serve: a cancelled run leaves its session alive, and nothing outlives the client,
// neither the sessions' containers nor the one that waits.
func TestContainersServe(t *testing.T) {
	t.Parallel()
	eachContainer(t, func(t *testing.T, p program) {
		serve := p.command("serve")
		cs := connect(t, serve)
		if _, failed, err := runPython(t.Context(), cs, "x = 41"); failed {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, _, err := runPython(ctx, cs, "import time\ntime.sleep(999)"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the cancelled call: %v", err)
		}
		if text, failed, err := runPython(t.Context(), cs, "x + 1"); failed || !strings.Contains(text, "42") {
			t.Errorf("after a cancelled run: %q, %v", text, err)
		}
		if len(p.containers(t, serve.Process.Pid)) == 0 {
			t.Error("its containers cannot be found: this test would prove nothing")
		}
		if err := cs.Close(); err != nil || serve.ProcessState.ExitCode() != 0 {
			t.Errorf("at the end of its input serve ended with %v, %v", serve.ProcessState, err)
		}
		if left := p.containers(t, serve.Process.Pid); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestContainersOddPlaces is case 52: whatever the folders are called, and with a umask that hides what is made.
func TestContainersOddPlaces(t *testing.T) {
	t.Parallel()
	eachContainer(t, func(t *testing.T, p program) {
		dir := filepath.Join(t.TempDir(), "with spaces, colons: and ünïcode=x")
		for _, name := range []string{"cache", "state", "tmp"} {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		p = p.with(
			"XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "XDG_STATE_HOME="+filepath.Join(dir, "state"),
			"TMPDIR="+filepath.Join(dir, "tmp"),
		)
		cmd := exec.Command("sh", "-c", "umask 077; exec codemode serve")
		cmd.Env = p.env
		cs := connect(t, cmd)
		// More than a reply takes: the rest is kept in the state folder, and can be read.
		res, err := cs.CallTool(
			t.Context(),
			&mcp.CallToolParams{Name: "run_python", Arguments: map[string]any{"code": `print("x" * 300000 + "end")`}},
		)
		if err != nil || res.IsError {
			t.Fatalf("%+v, %v", res, err)
		}
		structured, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		uri := regexp.MustCompile(`codemode://[\w/-]+`).FindString(string(structured))
		if uri == "" {
			t.Fatalf("no resource is named in %.300s", structured)
		}
		resource, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(resource.Contents) == 0 || len(resource.Contents[0].Text) < 1000 {
			t.Errorf("reading %s: %v", uri, err)
		}
	})
}

// TestContainersChatter is case 53: what the engine says is not the run's.
func TestContainersChatter(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, p program) {
		p = p.behind(
			t,
			`echo 'Trying to pull example.org/image...' >&2; echo 'WARN[0000] The cgroupv2 manager is set to systemd' >&2`,
		)
		for _, code := range []string{
			`import sys; print("out"); print("err", file=sys.stderr)`,
			// What is left is read at the end. Calls that keep the interpreter's lock leave the guest no chance to read it.
			`import ctypes, sys; c = ctypes.PyDLL(None); sys.setswitchinterval(60)
c.write(1, b"out\n", 4); c.write(2, b"err\n", 4); c.kill(c.getpid(), 9)`,
		} {
			cmd := p.command("exec", "-c", code)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run()
			var own strings.Builder // without what codemode itself says
			for line := range strings.Lines(stderr.String()) {
				if !strings.HasPrefix(line, "codemode: ") {
					own.WriteString(line)
				}
			}
			if stdout.String() != "out\n" || own.String() != "err\n" {
				t.Errorf("%s: stdout %q, stderr %q", code, &stdout, &stderr)
			}
		}
	})
}

// TestContainersPull is case 57: an image that is missing is told at once, and pulled when that is wanted, in time that
// is not the run's.
func TestContainersPull(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, p program) {
		there := filepath.Join(t.TempDir(), "there")
		p = p.behind(t, `there="`+there+`"
case "$1" in
pull) sleep 3; touch "$there"; exit 0 ;;
run|image) [ -e "$there" ] || { echo "Error: No such image: image not known" >&2; exit 125; } ;;
esac`)
		out, err := p.command("exec", "--timeout", "1s", "-c", "print(1)").CombinedOutput()
		if exit := (&exec.ExitError{}); !errors.As(err, &exit) || exit.ExitCode() != 125 ||
			!strings.Contains(string(out), "codemode image pull") {
			t.Errorf("without the image: %v: %s", err, out)
		}
		cmd := p.command("exec", "--pull", "missing", "--timeout", "1s", "-c", "print(1)")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.Output()
		if err != nil || string(stdout) != "1\n" {
			t.Errorf("with a pull that takes longer than the run may: %v, stdout %q, stderr %s", err, stdout, &stderr)
		}
	})
}

// behind puts a script before the engine's command.
func (p program) behind(t *testing.T, script string) program {
	t.Helper()
	path, err := exec.LookPath(p.engine)
	if err != nil {
		t.Fatal(err)
	}
	front := filepath.Join(t.TempDir(), p.engine)
	text := "#!/bin/sh\n" + script + "\nexec \"" + path + "\" \"$@\"\n"
	syscall.ForkLock.RLock() // a child that another test starts meanwhile would hold the file open for writing
	err = os.WriteFile(front, []byte(text), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return p.with("PATH=" + filepath.Dir(front) + ":" + os.Getenv("PATH"))
}

// TestContainersDoctor has a guest try to get out of a container of each engine. Nothing of it is left.
func TestContainersDoctor(t *testing.T) {
	t.Parallel()
	eachContainer(t, func(t *testing.T, p program) {
		cmd := p.command("doctor", "--json")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, c := range []struct{ check, want string }{
			{"runtime", `^version v?\d`},
			{"limits", `^a guest got past none of: memory \(\w+\), processes \(\w+\), the network, files of this machine, its own root$`},
			{"image", ` has Python 3\.`},
			{"share", `^its containers can read `},
		} {
			if p.engine == "kubernetes" && c.check == "share" { // its nodes have none of this machine's folders
				continue
			}
			f := gjson.GetBytes(out, fmt.Sprintf(`checks.#(check==%q)#|#(subject==%q)`, c.check, p.engine))
			if f.Get("status").Str != "ok" || !regexp.MustCompile(c.want).MatchString(f.Get("summary").Str) {
				t.Errorf("%s is %s; want %s", c.check, f.Raw, c.want)
			}
		}
		if left := p.containers(t, cmd.Process.Pid); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestContainersChart runs the guide's three commands from nothing to a chart in a container, as they stand there but for
// the engine and the image: packages that are installed here become a layer, by which a CSV becomes a chart where Python
// is the same. In an image without them they are the layer's.
func TestContainersChart(t *testing.T) {
	if exec.Command("/usr/bin/python3", "-c", "import pandas, matplotlib").Run() != nil {
		require.Lacking(t, "pandas", "python3 has no pandas and matplotlib")
	}
	const script, lines = "CODEMODE_TEST_EXAMPLE", "CODEMODE_TEST_LINES" // of another user, who cannot read the checkout
	if os.Getenv(script) == "" {
		text, err := os.ReadFile("../examples/sales.py")
		page, other := os.ReadFile("../docs/guide/packages.md")
		if err := errors.Join(err, other); err != nil {
			t.Fatal(err)
		}
		t.Setenv(script, string(text))
		_, rest, _ := strings.Cut(string(page), "\n```sh\n")
		three, _, _ := strings.Cut(rest, "```\n")
		t.Setenv(lines, three)
	}
	const anImage, anEngine = "my/debian", "--runtime podman"
	three := strings.ReplaceAll(os.Getenv(lines), "\\\n", "")
	if strings.Count(three, "\n") != 3 || !strings.Contains(three, anImage) || !strings.Contains(three, anEngine) {
		t.Fatalf("the guide's three commands: %s", three)
	}
	eachEngine(t, func(t *testing.T, p program) {
		const image = "localhost/codemode-test:pandas"
		if out, err := exec.Command(p.engine, "image", "inspect", image).CombinedOutput(); err != nil {
			require.Lacking(t, "pandas", "no image %s: %v: %.200s", image, err, out)
		}
		work := t.TempDir()
		write(t, filepath.Join(work, "sales.py"), os.Getenv(script))
		if err := os.Chmod(work, 0o755); err != nil { // a container's user is nobody
			t.Fatal(err)
		}
		here := strings.NewReplacer(anImage, image, anEngine, "--runtime "+p.engine).Replace(three)
		cmd := exec.Command("sh", "-ec", "umask 022\n"+here)
		cmd.Env, cmd.Dir = p.env, work
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "{'Bergen': 5, 'Oslo': 7}") {
			t.Fatalf("%v: %s", err, out)
		}
		picture, err := os.ReadFile(filepath.Join(work, "charts", "sales.png"))
		if err != nil || !bytes.HasPrefix(picture, []byte("\x89PNG")) {
			t.Errorf("the chart: %v, %.8q", err, picture)
		}
		const imported = "import dateutil.parser; print(dateutil.__file__.startswith('/opt/codemode/packages/'))"
		out, err := p.command("exec", "-c", imported).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "True") {
			t.Errorf("%v: %s", err, out)
		}
	})
}
