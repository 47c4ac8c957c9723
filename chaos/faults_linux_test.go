package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An injection brings a fault about in a codemode that works, and says what it got that was not promised. It may leave
// the codemode doomed.
type injection func(c *codemode) error

var injections = map[string]injection{
	"upstream dies at initialize":     raises("dies_initialize.echo(message='x')", "exit status 3"),
	"upstream dies before tools/list": raises("dies_list.echo(message='x')", "exit status 3"),
	"upstream dies before a call":     raises("dies_listed.echo(message='x')", "ended"),
	"upstream dies in a call": both(
		raises("wrong.crash()", "exit status 3"), answers("wrong.echo(message='again')", "again"),
	),
	"upstream dies after a call": both(
		answers("dies_answered.echo(message='one')", "one"), answers("dies_answered.echo(message='two')", "two"),
	),
	"upstream hangs at initialize": raises(
		"hangs_initialize.echo(message='x')", "starting the server took longer than",
	),
	"upstream hangs at tools/list": raises("hangs_list.echo(message='x')", "starting the server took longer than"),
	"upstream hangs in a call":     timesOut("hangs_call.echo(message='x')"),
	"upstream hangs at its end":    both(answers("stubborn.echo(message='x')", "x"), leaves),
	"upstream floods stderr":       both(answers("noisy.echo(message='x')", "x"), leaves),
	"upstream floods stdout": both(
		raises("wrong.flood()", "without a line end"), answers("wrong.echo(message='again')", "again"),
	),
	"upstream answers twice":         both(answers("wrong.twice()", "twice"), answers("wrong.echo(message='again')", "again")),
	"upstream answers another id":    timesOut("wrong.wrong_id()"),
	"upstream answers an id as text": timesOut("wrong.text_id()"),
	"upstream answers a list": both(
		raises("wrong.list_result()", "not an object"), answers("wrong.echo(message='again')", "again"),
	),
	"upstream answers 100 MB": both(
		raises("wrong.big(n=100 << 20)", "longer than"), answers("wrong.echo(message='again')", "again"),
	),
	"upstream dies in an answer": both(
		raises("wrong.half()", "exit status 3"), answers("wrong.echo(message='again')", "again"),
	),
	"upstream closes stdout": both(raises("wrong.eof()", "ended"), answers("wrong.echo(message='again')", "again")),

	"guest killed":        strikes(syscall.SIGKILL, "killed by signal 9", 30),
	"guest stopped":       strikes(syscall.SIGSTOP, "timeout", 2),
	"guest out of memory": ends("x = [bytearray(8 << 20) for _ in range(200)]", "out of memory"),

	"disk full: state":     fills("state"),
	"disk full: cache":     fills("cache"),
	"disk full: tmp":       fills("tmp"),
	"disk full: unpacking": unpackingFull,
	"descriptors":          descriptors,

	"client closes stdin":  closes(true, false),
	"client closes stdout": closes(false, true),
	"client closes both":   closes(true, true),
	"client sends garbage": garbage,
	"client reads nothing": readsNothing,

	"clock jumps": both(jumpsAtWork, jumpsBetween),
}

func both(first, second injection) injection {
	return func(c *codemode) error {
		if err := first(c); err != nil {
			return err
		}
		return second(c)
	}
}

// does runs code that ends in one way.
func (c *codemode) does(code string, timeout int, failed bool, want string) error {
	got := c.run("victim", code, timeout)
	if got.err != nil || got.failed != failed || !regexp.MustCompile(want).MatchString(got.text) {
		return fmt.Errorf("%q, want %q: %w", code, want, got.wrong())
	}
	return nil
}

// patiently calls a server again that is left alone for a while, since it has failed for other faults' sake, unless its
// error is the one that is wanted.
func patiently(call, want string) string {
	return fmt.Sprintf(`import re
while True:
    try:
        print(await mcp_%s)
        break
    except mcp.MCPError as e:
        if "next try in" not in str(e) or re.search(%q, str(e)): raise
        await asyncio.sleep(0.5)`, call, want)
}

func raises(call, want string) injection {
	// 100 MB take a while under the race detector.
	return func(c *codemode) error { return c.does(patiently(call, want), 110, true, want) }
}

// answers gives a server that is ending the time to end.
func answers(call, want string) injection {
	return func(c *codemode) error {
		return c.does("await asyncio.sleep(0.5)\n"+patiently(call, "no other"), 60, false, "^"+want)
	}
}

func timesOut(call string) injection {
	return func(c *codemode) error { return c.does("await mcp_"+call, 2, true, "^status: timeout") }
}

func ends(code, want string) injection {
	return func(c *codemode) error { return c.does(code, 30, true, want) }
}

func leaves(c *codemode) error {
	c.leave()
	return nil
}

// under is what a guest may be doing when it is struck.
var under = []string{
	"while True: pass",
	"import time; time.sleep(99)",
	"await mcp_steady.slow(ms=99000)",
	"while True: await mcp_steady.echo(message='x')",
	"while True: print('x' * 1000)",
	"import subprocess; subprocess.run(['sleep', '99'])",
	"try:\n    while True: pass\nexcept BaseException:\n    while True: pass",
}

// strikes sends the guest a signal in the midst of a run.
func strikes(s syscall.Signal, want string, timeout int) injection {
	return func(c *codemode) error {
		if err := c.does("print('up')", 30, false, "^up"); err != nil {
			return err
		}
		pid := c.guest("victim")
		if pid == 0 {
			return fmt.Errorf("the log names no guest of the session:\n%s", c.tail())
		}
		code, delay := under[c.m.rng.IntN(len(under))], time.Duration(
			50+c.m.rng.IntN(300),
		)*time.Millisecond // the run has begun by then
		time.AfterFunc(delay, func() { _ = unix.Kill(pid, s) })
		return c.does(code, timeout, true, want)
	}
}

// fill takes all room of a folder's file system, and returns how to give it back.
func fill(dir string) (empty func(), err error) {
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; { // to the last byte
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	return func() { os.Remove(name) }, nil
}

// fills fills the disk of a folder while everything that writes there is done.
func fills(dir string) injection {
	return func(c *codemode) error {
		if !c.m.disks {
			return errNeedsDisks
		}
		if err := c.does("print('up')", 30, false, "^up"); err != nil { // what every guest needs is there
			return err
		}
		defer c.forAll()()
		empty, err := fill(c.m.path(dir))
		if err != nil {
			return err
		}
		defer empty()
		if got := c.save("victim", "victim"); got.err != nil ||
			got.failed && (dir != "state" || !strings.Contains(got.text, "no space left")) {
			return got.wrong()
		}
		if err := c.does("print('line\\n' * 20_000)", 30, false, "line"); err != nil {
			return err
		}
		for _, session := range []string{"victim", fmt.Sprintf("new%d", c.m.rng.IntN(8))} {
			if got := c.run(
				session, "for i in range(20): print(await mcp_steady.echo(message=str(i)))", 30,
			); got.err != nil ||
				got.failed {
				return got.wrong()
			}
		}
		return nil
	}
}

// unpackingFull has a codemode unpack its Python to a disk that is too small, and again when there is room.
func unpackingFull(c *codemode) error {
	m := c.m
	if !m.disks {
		return errNeedsDisks
	}
	if err := m.rest(); err != nil {
		return err
	}
	cache := m.path("small")
	if err := os.Mkdir(cache, 0o755); err != nil {
		return err
	}
	defer os.Remove(cache)
	if err := unix.Mount("tmpfs", cache, "tmpfs", 0, fmt.Sprintf("mode=755,size=%dm", 4+m.rng.IntN(40))); err != nil {
		return err
	}
	defer func() { _ = unix.Unmount(cache, unix.MNT_DETACH) }()
	c = m.start(cache)
	if err := c.connect(); err != nil {
		return err
	}
	if err := c.does("1", 30, true, "(?s)"+regexp.QuoteMeta(cache)+".*no space left"); err != nil {
		return err
	}
	if temps, _ := filepath.Glob(filepath.Join(cache, "codemode", "python", ".tmp-*")); len(temps) > 0 {
		return fmt.Errorf("left: %v", temps)
	}
	if err := unix.Mount("tmpfs", cache, "tmpfs", unix.MS_REMOUNT, "size=400m"); err != nil {
		return err
	}
	if err := c.does("print(6 * 7)", 30, false, "^42"); err != nil {
		return err
	}
	return m.rest()
}

// descriptors lets codemode open a few descriptors more than it has, while it needs some for everything.
func descriptors(c *codemode) error {
	defer c.forAll()()
	pid := c.cmd.Process.Pid
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return err
	}
	var before unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &before); err != nil {
		return err
	}
	few := before
	few.Cur = uint64(len(open) + c.m.rng.IntN(24))
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &few, nil); err != nil {
		return err
	}
	defer func() { _ = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &before, nil) }()
	deadline := time.Now().Add(time.Duration(c.m.rng.IntN(3000)) * time.Millisecond)
	for n := 0; n == 0 || time.Now().Before(deadline); n++ {
		for session, code := range map[string]string{
			"victim":                    "print(await mcp_wrong.echo(message='x'))",
			fmt.Sprintf("new%d", n%8):   "print('line\\n' * 20_000)",
			fmt.Sprintf("other%d", n%4): "def other(): return 1\nsave_tool(other, replace=True)",
		} {
			got := c.run(session, code, 20)
			if got.err != nil || got.failed && !strings.Contains(got.text, "too many open files") {
				return fmt.Errorf("with %d descriptors: %w", few.Cur, got.wrong())
			}
		}
		if err := c.does("import os; os._exit(1)", 20, true, "Python ended|too many open files"); err != nil {
			return fmt.Errorf("with %d descriptors: %w", few.Cur, err)
		}
	}
	return nil
}

// closes is a client that closes its ends, with runs under way.
func closes(in, out bool) injection {
	return func(c *codemode) error {
		done := make(chan result, 1)
		code := under[c.m.rng.IntN(len(under))]
		go func() { done <- c.run("victim", code, 5) }()
		<-time.After(time.Duration(c.m.rng.IntN(400)) * time.Millisecond)
		c.doomed.Store(true)
		if in {
			c.in.Close()
		}
		if out {
			c.out.Close()
		}
		err := c.ends() // without further help
		<-done
		return err
	}
}

// garbage is written between the client's messages.
func garbage(c *codemode) error {
	rng := c.m.rng
	noise := make([]byte, rng.IntN(1<<16))
	for i := range noise {
		noise[i] = byte(rng.IntN(256))
	}
	lines := [][]byte{
		noise,
		append(noise, '\n'),
		[]byte("\n\n\r\n"),
		[]byte("{}\n[]\nnull\n\"x\"\n1e999\n"),
		[]byte(strings.Repeat("[", 100_000) + "\n"),
		[]byte(`{"jsonrpc":"2.0","id":null,"method":"tools/call"}` + "\n"),
		[]byte(`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"run_python","arguments":[1]}}` + "\n"),
		[]byte(`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}` + "\n"),
		[]byte(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"),
		[]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}` + "\n"),
		bytes.Repeat([]byte("x"), 80<<20),
	}
	c.doomed.Store(true) // it may end, and the client cannot know of what
	line := lines[rng.IntN(len(lines))]
	go func() {
		_, _ = io.Copy(c.in, bytes.NewReader(line))
		c.in.Close()
	}()
	return nil
}

// readsNothing is a client of no library: it asks for more than its pipe holds, reads none of it, and hangs up.
func readsNothing(c *codemode) error {
	m := c.m
	if err := m.rest(); err != nil {
		return err
	}
	c = m.start(m.path("cache"))
	fmt.Fprintln(
		c.in,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
	)
	fmt.Fprintln(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for n := range 8 {
		fmt.Fprintf(
			c.in,
			`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"run_python","arguments":{"code":"print('x' * 30_000)","session":"s%d"}}}`+"\n",
			n+2,
			n,
		)
	}
	<-time.After(time.Duration(m.rng.IntN(3000)) * time.Millisecond)
	if m.rng.IntN(2) == 0 {
		c.leave()
	} else {
		c.signal(syscall.SIGTERM)
	}
	return m.settle()
}

// jumpsAtWork has the time of day jump while all goes on.
func jumpsAtWork(c *codemode) error {
	if err := noClock(); err != nil {
		return err
	}
	defer c.m.jump(0)
	return errors.Join(c.clock.jumping(c.m.rng.Uint64(), c.onTime), c.m.works())
}

// jumpsBetween has it jump from one codemode to the next: that finds files from its future, and such as are of another
// age.
func jumpsBetween(c *codemode) error {
	m := c.m
	defer m.jump(0)
	if err := m.rest(); err != nil {
		return err
	}
	for _, what := range []string{"install", "uninstall"} {
		m.jump(anyTime(m.rng))
		if err := m.command(m.rng.Uint64(), what, "--yes", "cursor"); err != nil {
			return err
		}
	}
	if is, err := os.ReadFile(m.path(cursorFile)); string(is) != cursor {
		return fmt.Errorf("installed and uninstalled, the client's file is %q (%w)", is, errors.Join(err, errAsShown))
	}
	if err := os.RemoveAll(
		m.path("cache/codemode/guest"),
	); err != nil { // which is written anew, while the time of day jumps
		return err
	}
	c, err := m.alive()
	if err != nil {
		return err
	}
	if err := c.clock.jumping(m.rng.Uint64(), m.works); err != nil || m.rng.IntN(2) == 0 {
		return err // back while it works
	}
	return m.rest()
}

// onTime has runs and calls end by their deadlines, or well before them, and on neither side of that: all at once, each
// in a session of its own.
func (c *codemode) onTime() error {
	errs, seed := make(chan error), c.m.rng.Uint64()
	go func() { errs <- c.m.command(seed, "exec", "--config", c.m.path(limitedFile), "-c", sixCalls) }()
	for i, d := range deadlines {
		go func() {
			began := time.Now()
			got := c.run(fmt.Sprintf("clock%d", i), d.code, d.timeout)
			took := time.Since(began)
			if got.err != nil || !regexp.MustCompile(d.want).MatchString(got.text) || took < d.least ||
				took > d.least+slack {
				errs <- fmt.Errorf("%q after %v, want %q after %v: %w", d.code, took, d.want, d.least, got.wrong())
				return
			}
			errs <- nil
		}()
	}
	err := <-errs
	for range deadlines {
		err = errors.Join(err, <-errs)
	}
	return err
}

// sixCalls are made where five may be, for a while.
const sixCalls = `
for i in range(5): await mcp_steady.echo(message='may')
for i in range(20):
    await asyncio.sleep(0.1)
    try: await mcp_steady.echo(message='may not')
    except mcp.PolicyError: continue
    raise SystemExit('the limit of a minute was forgotten')
`

// slack is what starting Python, grace, and a busy machine may add.
const slack = 15 * time.Second

var deadlines = []struct {
	code    string
	timeout int
	want    string
	least   time.Duration
}{
	{"await asyncio.sleep(1.5)\nprint('slept')", 30, "^slept", 1500 * time.Millisecond},
	{"while True: pass", 2, "^status: timeout", 2 * time.Second},
	{"await mcp_hangs_call.echo(message='x')", 2, "^status: timeout", 2 * time.Second},
	{"print(await mcp_hasty.slow(ms=1500))", 30, "^waited", 1500 * time.Millisecond},
	{"await mcp_hasty.slow(ms=20_000)", 30, "took longer than 2s", 2 * time.Second},
	{"for i in range(300): await mcp_steady.echo(message=str(i))\nprint('rotated')", 30, "^rotated", 0},
}
