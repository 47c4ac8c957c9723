package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"
)

// A codemode is one `codemode serve` and its client. It is over when it has ended, or is about to.
type codemode struct {
	m       *machine
	cmd     *exec.Cmd
	in, out *os.File // the client's ends of its pipes
	clock   *clock   // nil where there can be none
	log     string   // the file of its stderr
	ended   chan struct{}

	client  *mcp.ClientSession // once connected
	busy    sync.WaitGroup     // sessions that go on during faults
	doomed  atomic.Bool        // it is to end: what fails now fails because of that
	strange atomic.Int32       // odd while there is a fault that everybody may notice
}

// start starts a codemode.
func (m *machine) start(cache string) *codemode {
	m.count++
	c := &codemode{m: m, log: m.path(fmt.Sprintf("log-%d", m.count)), ended: make(chan struct{})}
	theirIn, in, err := os.Pipe()
	out, theirOut, err2 := os.Pipe()
	log, err3 := os.Create(c.log)
	if err := errors.Join(err, err2, err3); err != nil {
		m.t.Fatal(err)
	}
	c.in, c.out = in, out
	c.cmd = exec.Command(programs["codemode"], "serve")
	c.cmd.Env, c.cmd.Dir = m.environment(cache), m.path("home")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirIn, theirOut, log
	c.clock, err = m.launch(c.cmd)
	theirIn.Close()
	theirOut.Close()
	log.Close()
	if err != nil {
		m.t.Fatal(err)
	}
	go func() {
		_ = waitChild(c.cmd, func() { c.doomed.Store(true) })
		close(c.ended)
	}()
	m.pids = append(m.pids, c.cmd.Process.Pid)
	m.now = c
	return c
}

// launch starts a codemode of any kind at the machine's time of day. Whoever does that calls waitChild.
func (m *machine) launch(cmd *exec.Cmd) (k *clock, err error) {
	err = startChild(cmd, func() (err error) {
		if noClock() != nil {
			return cmd.Start()
		}
		k, err = startAhead(cmd, m.ahead)
		return err
	})
	return k, err
}

// connect makes the client's session.
func (c *codemode) connect() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c.client, err = mcp.NewClient(&mcp.Implementation{Name: "chaos", Version: "1"}, nil).
		Connect(ctx, &mcp.IOTransport{Reader: c.out, Writer: c.in, MaxLineLength: -1}, nil)
	if err != nil {
		return fmt.Errorf("initialize: %w\n%s", err, c.tail())
	}
	return nil
}

// over says whether it has ended, or is to.
func (c *codemode) over() bool { return c.doomed.Load() }

// leave is the client's polite end.
func (c *codemode) leave() {
	c.doomed.Store(true)
	c.in.Close()
}

// signal sends it a signal that ends it.
func (c *codemode) signal(s syscall.Signal) {
	c.doomed.Store(true)
	_ = c.cmd.Process.Signal(s) // it may have ended already
}

// ends waits for its end, which something has caused.
func (c *codemode) ends() error {
	select {
	case <-c.ended:
		return nil
	case <-time.After(patience):
		_ = c.cmd.Process.Signal(syscall.SIGABRT) // for its goroutines
		<-c.ended
		return fmt.Errorf("codemode did not end within %v:\n%s", patience, c.tail())
	}
}

// end takes all of it off, once it has ended, and says what was wrong with that.
func (c *codemode) end() (err error) {
	err = c.ends()
	c.in.Close()
	c.out.Close()
	c.clock.close()
	if c.client != nil {
		_ = c.client.Close()
	}
	c.busy.Wait()
	status := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err == nil && status.ExitStatus() != 0 && !status.Signaled() {
		err = fmt.Errorf("codemode ended with %d:\n%s", status.ExitStatus(), c.tail())
	}
	if text, _ := os.ReadFile(c.log); err == nil &&
		(bytes.Contains(text, []byte("\npanic: ")) || bytes.Contains(text, []byte("fatal error: "))) {
		err = fmt.Errorf("codemode crashed:\n%s", c.tail())
	}
	if err == nil {
		_ = os.Remove(c.log)
	}
	return err
}

// tail is the end of its log.
func (c *codemode) tail() string {
	text, _ := os.ReadFile(c.log)
	return string(text[max(0, len(text)-6<<10):])
}

// A result is what came of a run_python.
type result struct {
	text   string // as a model sees it
	failed bool
	err    error // no answer, or a late one
}

func (r result) wrong() error {
	return fmt.Errorf("%.3000s (%w)", r.text, errors.Join(r.err, errAsShown))
}

var errAsShown = errors.New("as shown")

// run calls run_python. No answer comes later than deadline, grace and what starting takes on a busy machine.
func (c *codemode) run(session, code string, timeout int) (r result) {
	limit := time.Duration(timeout)*time.Second + patience
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	began := time.Now()
	answer, err := c.client.CallTool(ctx, &mcp.CallToolParams{
		Name: "run_python", Arguments: map[string]any{"code": code, "session": session, "timeout": timeout},
	})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !c.over() {
			err = fmt.Errorf("%w (%w)\n%s", cause, err, c.tail())
			_ = c.cmd.Process.Signal(syscall.SIGABRT)
		}
		return result{err: fmt.Errorf("after %v: %w", time.Since(began).Round(time.Millisecond), err)}
	}
	r.failed = answer.IsError
	for _, content := range answer.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			r.text += text.Text
		}
	}
	c.m.acknowledged(answer, r.text)
	return r
}

// acknowledged notes what the result has promised.
func (m *machine) acknowledged(answer *mcp.CallToolResult, text string) {
	var said struct {
		Run   string
		Calls int
	}
	data, _ := json.Marshal(answer.Meta["codemode/receipt"])
	if json.Unmarshal(data, &said) != nil || said.Run == "" || strings.Contains(text, "audit log lacks") {
		return
	}
	if answer.IsError {
		said.Calls = -1 // calls that the end cut short have their lines when they are over
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs[said.Run] = receipt{len(m.runs) + 1, said.Calls}
}

// save has a new version of a tool saved.
func (c *codemode) save(session, name string) result {
	m := c.m
	m.mu.Lock()
	v := m.tools[name]
	v.tried++
	m.tools[name] = v
	m.mu.Unlock()
	r := c.run(
		session,
		fmt.Sprintf("def %s():\n    return %d\nsave_tool(%s, replace=True)\nprint('kept')", name, v.tried, name), 20,
	)
	if r.err == nil && !r.failed && strings.HasPrefix(r.text, "kept") {
		m.mu.Lock()
		m.tools[name] = version{v.tried, v.tried}
		m.mu.Unlock()
	}
	return r
}

// beBusy has a session beside the one that meets faults, which must not notice them.
func (c *codemode) beBusy(session string) {
	c.busy.Go(func() {
		for n := 0; !c.over(); n++ {
			before := c.strange.Load()
			var r result
			switch n % 3 {
			case 0:
				r = c.run(session, "print(await mcp_steady.echo(message='busy'))", 30)
			case 1:
				r = c.save(session, session)
			default:
				r = c.run(session, "print('line\\n' * 20_000)", 30) // more than fits into a result
			}
			noticed := (r.err != nil || r.failed) && before%2 == 0 && before == c.strange.Load()
			select { // the end of codemode, and our knowing of it, are two things
			case <-time.After(c.m.pause):
			case <-c.ended:
			}
			if noticed && !c.over() {
				c.m.t.Errorf("a session beside the fault: %v", r.wrong())
				return
			}
		}
	})
}

// forAll begins a fault that the sessions beside it may notice, too.
func (c *codemode) forAll() (end func()) {
	c.strange.Add(1)
	return func() { c.strange.Add(1) }
}

var startedGuest = regexp.MustCompile(`msg="sandbox (?:started|taken from the pool)" pid=(\d+) .*session=(\S+)`)

// guest is the pid of a session's Python, as the log has it. What checks a tool that is saved is started for that
// session, too, and has ended by then.
func (c *codemode) guest(session string) (pid int) {
	text, _ := os.ReadFile(c.log)
	for _, m := range startedGuest.FindAllSubmatch(text, -1) {
		if n, _ := strconv.Atoi(string(m[1])); string(m[2]) == session && unix.Kill(n, 0) == nil {
			pid = n
		}
	}
	return pid
}
