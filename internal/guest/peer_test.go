//go:build unix

package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A peer is a guest as a bare child process, and the host's end of its channel.
type peer struct {
	t       testing.TB
	cmd     *exec.Cmd
	channel *os.File
	conn    *Conn
	pipes   [2]*os.File // the host's hold on the read ends
	stop    context.CancelFunc
	next    int64
	input   *strings.Reader // what the guest asks for, a few bytes at a time
}

func startPeer(t testing.TB, python, boot string, stdin *string, pulled bool) *peer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range ends {
		syscall.CloseOnExec(end)
	}
	if err := syscall.SetNonblock(ends[0], true); err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, channel: os.NewFile(uintptr(ends[0]), "channel"), stop: cancel}
	theirs := []*os.File{os.NewFile(uintptr(ends[1]), "guest's end")}
	var write [2]*os.File
	for i := range p.pipes {
		if p.pipes[i], write[i], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	p.cmd = exec.CommandContext(ctx, python, "-I", "-S", "-u", boot, "fd:3:4:5")
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	p.cmd.Dir = t.TempDir()
	p.cmd.ExtraFiles = []*os.File{theirs[0], p.pipes[0], p.pipes[1]}
	p.cmd.Stdout, p.cmd.Stderr = write[0], write[1]
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if pulled {
		p.input = strings.NewReader(*stdin)
	} else if stdin != nil {
		p.cmd.Stdin = strings.NewReader(*stdin)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range append(theirs, write[0], write[1]) {
		f.Close()
	}
	t.Cleanup(p.kill)
	p.conn = NewConn(p.channel, 64<<20)
	p.request(
		MethodInitialize,
		Initialize{
			Version: ProtocolVersion, Session: t.Name(), Stdin: stdin != nil, PullStdin: pulled, MaxMessage: 64 << 20,
		},
	)
	m := p.read()
	for m.IsRequest() { // for input
		p.serve(nil, m)
		m = p.read()
	}
	if m.Result == nil {
		t.Fatalf("initialize: %+v", m)
	}
	return p
}

func (p *peer) request(method string, params any) {
	p.t.Helper()
	p.next++
	if err := p.conn.Request(p.next, method, params)(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) read() Message {
	p.t.Helper()
	m, err := p.conn.Read()
	if err != nil {
		p.t.Fatalf("reading from the guest: %v\nstderr: %s", err, p.leftover(1))
	}
	return m
}

// run sends code and returns what the guest says to it.
func (p *peer) run(number int, code, options string) string {
	p.t.Helper()
	r := Run{Run: number, Code: code, Filename: fmt.Sprintf("<run %d>", number), Argv: []string{""}}
	if strings.Contains(options, "script") {
		r.Script, r.Filename, r.Argv = true, "script.py", []string{"script.py", "--flag"}
	}
	p.request(MethodRun, r)
	interrupt := Interrupt{Run: number, Reason: "timeout"}
	if strings.Contains(options, "interrupt-at-once") {
		p.notify(interrupt)
	}
	said := &transcript{flood: options == "flood", anywhere: options == "interrupt-at-once"}
	for {
		m, err := p.conn.Read()
		if errors.Is(err, io.EOF) {
			return said.gone(p)
		}
		if err != nil {
			p.t.Fatalf("reading from the guest: %v", err)
		}
		switch {
		case m.Method == "":
			if m.ID != p.next {
				p.t.Fatalf("answer to %d, want %d", m.ID, p.next)
			}
			return said.result(p.t, m)
		case m.Method == MethodOutput:
			said.output(p.t, m)
			if slices.Contains(strings.Fields(options), "interrupt") &&
				strings.HasSuffix(string(said.bytes), "ready\n") {
				p.notify(interrupt)
			}
		case m.IsRequest():
			p.serve(said, m)
		default:
			said.notification(p.t, m)
		}
	}
}

func (p *peer) notify(i Interrupt) {
	if err := p.conn.Notify(MethodInterrupt, i)(); err != nil {
		p.t.Fatal(err)
	}
	if err := p.conn.Notify("grease", struct{}{})(); err != nil { // unknown notifications are ignored
		p.t.Fatal(err)
	}
}

// serve answers a tool call: "echo" with its arguments, "fail" with an error, "never" not before its cancellation.
func (p *peer) serve(said *transcript, m Message) {
	if m.Method == MethodStdin {
		p.serveInput(m)
		return
	}
	var call ToolCall
	if err := json.Unmarshal(m.Params, &call); err != nil {
		p.t.Fatal(err)
	}
	var err error
	switch call.Tool {
	case "echo":
		err = p.conn.Respond(m.ID, call.Arguments)
	case "deep":
		err = p.conn.Respond(m.ID, json.RawMessage(strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000)))
	case "digits":
		err = p.conn.Respond(m.ID, json.RawMessage(strings.Repeat("9", 10_000)))
	case "fail":
		err = p.conn.RespondError(m.ID, CodeToolFailed, "no luck", ErrorData{Server: call.Server, Code: 7})
	case "never":
		said.line("call never")
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) serveInput(m Message) {
	piece := make([]byte, 5)
	n, err := p.input.Read(piece)
	answer, merr := json.Marshal(Stdin{Base64: piece[:n], EOF: err != nil})
	if err := errors.Join(merr, p.conn.Respond(m.ID, answer)); err != nil {
		p.t.Fatal(err)
	}
}

// leftover is what the guest wrote to a descriptor and never sent. Only after it has ended.
func (p *peer) leftover(pipe int) string {
	p.pipes[pipe].SetReadDeadline(time.Now().Add(time.Second))
	data, _ := io.ReadAll(p.pipes[pipe])
	return string(data)
}

// close ends the session, waits for the guest, and proves that nothing of it is left.
func (p *peer) close() {
	p.t.Helper()
	if p.cmd.ProcessState == nil {
		p.channel.Close()
		if err := p.cmd.Wait(); err != nil {
			p.t.Errorf("guest at the end of its channel: %v\n%s", err, p.leftover(1))
		}
	}
	p.kill()
}

// kill ends whatever the guest's process group still has, and waits until it is empty.
func (p *peer) kill() {
	defer p.stop()
	group := -p.cmd.Process.Pid
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		err := syscall.Kill(group, syscall.SIGKILL)
		if p.cmd.ProcessState == nil {
			p.cmd.Wait()
		}
		if errors.Is(err, syscall.ESRCH) {
			p.channel.Close()
			p.pipes[0].Close()
			p.pipes[1].Close()
			return
		}
	}
	p.t.Errorf("process group %d is still there", group)
}
