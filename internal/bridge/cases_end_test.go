package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"codemode/internal/sandbox"
)

// case 5: the deadline ends whatever runs. What has been printed is there, and the text says whether the variables
// are.
func TestDeadlineCases(t *testing.T) {
	const endless = "collections.deque(itertools.repeat(1), maxlen=0)" // C code that looks for no signal
	stubborn := func(line string) string {
		return "while True:\n    try:\n        " + line + "\n    except BaseException:\n        pass"
	}
	t.Run("stopped", func(t *testing.T) {
		deadlineCases(t, patience, map[string]string{ // that it takes however busy the machine is
			"busy loop": "while True: pass",
			"sleep":     "time.sleep(999)",
			"await":     "await asyncio.sleep(999)",
		}, "the session's variables are still there", "41")
	})
	t.Run("killed", func(t *testing.T) {
		deadlineCases(t, 300*time.Millisecond, map[string]string{
			"endless C call":                         endless,
			"busy loop that catches everything":      stubborn("while True: pass"),
			"sleep that catches everything":          stubborn("time.sleep(999)"),
			"endless C call that catches everything": stubborn(endless),
		}, "the code did not stop within 0.3 s, so Python was killed; the session's variables are lost",
			"gone\nnote: this is a fresh Python: the variables of earlier runs are gone because the last run ended it")
	})
}

// deadlineCases runs each code into its deadline. What becomes of it follows, and what the session has of x then.
func deadlineCases(t *testing.T, grace time.Duration, codes map[string]string, becomes, x string) {
	k := newKit(t, func(o *Options) { o.Config.Run.Grace = grace })
	for name, code := range codes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The start of a sandbox and the first import are not what the deadline is about.
			begin := "import asyncio, collections, itertools, time\nx = 41\nawait asyncio.sleep(0)"
			k.run(Request{Session: t.Name(), Code: begin})
			timeout := k.soon(t.Name())
			got := k.run(Request{Session: t.Name(), Timeout: timeout, Code: "print('before')\n" + code}).compact()
			text := "status: timeout\nexit: 124\nbefore\nerror: timeout after " + seconds(timeout) + "; " + becomes
			// What follows is where it was stopped.
			if got != text && !(strings.HasPrefix(got, text+"\n") && strings.HasSuffix(got, "\nKeyboardInterrupt")) {
				t.Errorf("got:\n%s\nwant:\n%s", got, text)
			}
			got = k.run(Request{Session: t.Name(), Code: "print(x if 'x' in globals() else 'gone')"}).compact()
			want(t, got, x)
		})
	}
}

// case 6: the caller leaves; the nested call ends at the server, too, and the session lives.
func TestCancelledRun(t *testing.T) {
	k := newKit(t, patiently, fake("fake"))
	want(t, k.text("x = 41; await mcp_fake.echo(message='up')"), "result: 'up'")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan Outcome, 1)
	go func() {
		ended <- k.Run(ctx, Request{
			Code:    "print('calling')\nawait mcp_fake.slow(ms=60000)",
			Timeout: patience,
		})
	}()
	k.waitForLog("fakemcp: slow is under way")
	cancel()
	out := <-ended
	contains(
		t, out.compact(),
		"status: cancelled\nexit: 130\ncalling\nerror: cancelled; the session's variables are still there\n",
		"KeyboardInterrupt",
	)
	k.waitForLog("fakemcp: slow was cancelled")
	want(t, k.text("x, await mcp_fake.echo(message='again')"), "result: (41, 'again')")
}

// case 16: however the interpreter ends, the result names it.
func TestEndCases(t *testing.T) {
	k := newKit(t, func(o *Options) { o.Config.Sandbox.Memory = 96 << 20 })
	const lost = "; the session's variables are lost"
	for _, c := range []struct{ name, code, want string }{
		{"case 16 exit", "import sys; sys.exit()", "success"},
		{"case 16 exit 3", "import sys; sys.exit(3)", "status: error\nexit: 3"},
		{"case 16 exit as far as C goes", "import sys; sys.exit(2**63 - 1)", "status: error\nexit: 255"},
		{"case 16 exit further", "import sys; sys.exit(2**70)", "status: error\nexit: 255"},
		{"case 16 exit why", "import sys; sys.exit('why')", "status: error\nexit: 1\nerror: why"},
		{
			"case 16 _exit", "import os\nprint('out')\nos._exit(4)",
			"status: error\nexit: 4\nout\nerror: Python ended before the code was done (exit code 4)" + lost,
		},
		{
			"case 16 _exit 0", "import os; os._exit(0)",
			"status: error\nerror: Python ended before the code was done (exit code 0)" + lost,
		},
		{
			"case 16 segfault", "import ctypes\nprint('out')\nctypes.string_at(0)",
			"status: error\nexit: 139\nout\nerror: Python was killed by signal 11 (segmentation fault)" + lost,
		},
		{
			"case 16 memory", "x = [bytearray(4 << 20) for _ in range(200)]",
			"status: error\nexit: 137\nerror: out of memory (limit 96 MB)" + lost,
		},
		{
			"case 16 memory of children", "import os\nfor _ in range(6):\n    if os.fork() == 0:\n" +
				"        x = bytearray(40 << 20)\n        while True: pass\nos.wait()",
			"status: error\nexit: 137\nerror: out of memory (limit 96 MB)" + lost,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := k.run(Request{Session: t.Name(), Code: c.code, Timeout: patience})
			want(t, out.compact(), c.want)
			want(t, k.run(Request{Session: "other", Code: "1"}).compact(), "result: 1")
		})
	}
	for _, code := range []string{
		"os.dup2(0, 2); os.closerange(3, 256)",
		"socket.socket(fileno=3).shutdown(socket.SHUT_RDWR)\nwhile True: pass",
	} {
		t.Run("case 16 closed channel", func(t *testing.T) {
			// Python ends because of it; whether that or the closed channel is seen first is up to the kernel.
			out := k.run(Request{Session: t.Name(), Code: "import os, socket\nprint('out')\n" + code})
			if out.Status != StatusError || !out.Lost || string(out.Stdout.Head) != "out\n" {
				t.Errorf("%s", out.compact())
			}
		})
	}
	t.Run("case 16 abort", func(t *testing.T) {
		// The kernel keeps SIGABRT from the first process of a namespace; abort() goes on to an illegal access then.
		out := k.run(Request{Session: t.Name(), Code: "import os; os.abort()"})
		if out.Signal != 6 && out.Signal != 11 || out.ExitCode != 128+out.Signal {
			t.Errorf("signal %d: %s", out.Signal, out.compact())
		}
	})
}

// TestNamelessExceptions holds that an exception that tells nothing of itself ends its run and not its session.
func TestNamelessExceptions(t *testing.T) {
	k := newKit(t, nil)
	out := k.run(Request{Code: `x = 41
class Kind(type):
    def __getattribute__(self, name): 1 / 0
class Nameless(Exception, metaclass=Kind): pass
raise Nameless()`})
	want(t, out.compact(), "status: error\nexit: 1\nerror: Nameless")
	want(t, k.text("x"), "result: 41")
}

// TestLongExit holds that what a program ends with, however long, is its own end and not its session's.
func TestLongExit(t *testing.T) {
	k := newKit(t, nil)
	out := k.run(Request{Code: `x = 41; raise SystemExit("\x01" * 12_000_000)`, Timeout: patience})
	if out.ExitCode != 1 || out.Lost || !strings.HasPrefix(out.Error, "\x01\x01") {
		t.Errorf("exit %d, lost %v: %.200q", out.ExitCode, out.Lost, out.Error)
	}
	want(t, k.run(Request{Code: "x"}).compact(), "result: 41")
}

// case 17: what is left behind is told by name, and does not disturb the next run.
func TestLeftoverCases(t *testing.T) {
	k := newKit(t, nil)
	for _, c := range []struct{ name, code, note string }{
		{"case 17 task", "async def ticker():\n    while True:\n        await asyncio.sleep(0.001)\n" +
			"        print('stale')\n" +
			"task = asyncio.create_task(ticker())\nawait asyncio.sleep(0)", "task ticker"},
		{"case 17 thread", "import threading, time\ndef work():\n    while True:\n        time.sleep(0.001)\n" +
			"        print('stale')\n" +
			"threading.Thread(target=work, name='worker').start()", "thread worker"},
		{
			"case 17 child process",
			"import subprocess\nchild = subprocess.Popen(['sh', '-c', 'while :; do sleep 0.01; echo stale; done'])",
			"child process sh",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := k.run(Request{Session: t.Name(), Code: c.code})
			if out.Status != StatusSuccess || len(out.Notes) != 1 || !strings.Contains(out.Notes[0], c.note) {
				t.Errorf("notes %q: %s", out.Notes, out.compact())
			}
			for i := range 3 {
				out := k.run(
					Request{Session: t.Name(), Code: fmt.Sprintf("import time; time.sleep(0.03); print(%d)", i)},
				)
				want(t, out.compact(), fmt.Sprint(i))
			}
		})
	}
}

// TestReceiptNamesTheSandbox is case 84: every result says which sandbox it is from, and in what that is weaker than it
// could be.
func TestReceiptNamesTheSandbox(t *testing.T) {
	for _, c := range []struct {
		name   string
		weaker sandbox.Enforcement
		want   string
	}{
		{"full", sandbox.Enforcement{}, `"runtime":"scripted"`},
		{
			"reduced",
			sandbox.Enforcement{Isolation: sandbox.IsolationReduced},
			`"runtime":"scripted","isolation":"reduced"`,
		},
		{
			"with a gap",
			sandbox.Enforcement{Gaps: []sandbox.Gap{{Name: "memory"}}},
			`"runtime":"scripted","gaps":["memory"]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, rt := scriptedBridge(t, obedient)
			rt.Weaker = c.weaker
			for range 2 {
				receipt, err := json.Marshal(b.Run(t.Context(), Request{Code: "x", Timeout: patience}).Receipt)
				if err != nil || !strings.Contains(string(receipt), c.want+`,"`) {
					t.Errorf("%s, %v, want %s", receipt, err, c.want)
				}
			}
		})
	}
}
