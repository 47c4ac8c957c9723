//go:build unix

package guest

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite what the guest says in testdata/conversations")

// TestConversations plays testdata/conversations against boot.py as a bare child process.
//
// A section "run" is code the host sends; its options are "script", "interrupt" (once the guest has
// printed "ready"), "interrupt-at-once" and "flood" (stdout is not the same every time). "host" has
// settings: "stdin TEXT", or "pulled TEXT" for input that the guest must ask for. The section "guest" behind a run is
// what the guest says to it, see [transcript].
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/conversations/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations", err)
	}
	boot := unpack(t)
	for i, python := range interpreters(t) {
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			t.Run(filepath.Base(python)+"/"+name, func(t *testing.T) {
				t.Parallel()
				archive, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				playConversation(t, python, boot, archive)
				if *update && i == 0 {
					if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

// unpack writes the guest's files to a directory, with the stand-in for the mcp package, and returns boot.py's path.
func unpack(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, Files()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "mcp")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS("testdata/double")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "boot.py")
}

func playConversation(t *testing.T, python, boot string, archive *txtar.Archive) {
	var stdin *string
	pulled := false
	run := 0
	var p *peer
	for i := range archive.Files {
		section := &archive.Files[i]
		kind, options, _ := strings.Cut(section.Name, " ")
		switch kind {
		case "host":
			how, text, ok := strings.Cut(string(section.Data), " ")
			if !ok || how != "stdin" && how != "pulled" {
				t.Fatalf("host section %q: want stdin TEXT or pulled TEXT", section.Data)
			}
			stdin, pulled = &text, how == "pulled"
		case "run":
			if p == nil {
				p = startPeer(t, python, boot, stdin, pulled)
			}
			run++
			said := p.run(run, string(section.Data), options)
			if i+1 >= len(archive.Files) || archive.Files[i+1].Name != "guest" {
				t.Fatalf("section %q has no guest section behind it", section.Name)
			}
			answer := &archive.Files[i+1]
			if *update {
				answer.Data = []byte(said)
			} else if want := string(answer.Data); said != want {
				t.Errorf("run %d: guest said\n%s\nwant\n%s", run, said, want)
			}
		case "guest":
		default:
			t.Fatalf("unknown section %q", section.Name)
		}
	}
	p.close()
}

// A transcript is what a guest said, a line each:
//
//	stdout "…", stderr "…"   everything printed until something else was said
//	display TYPE N bytes     an image
//	cancel, call never       a cancellation; a call that waits for one
//	ok [value …] [json …]    the result, also exit CODE MESSAGE, and
//	error, interrupted       with the traceback behind it
//	note …                   each of the result's notes
//	gone …                   the guest ended instead
type transcript struct {
	flood    bool // leave stdout out
	anywhere bool // leave out where the run was interrupted
	text     strings.Builder
	stream   string
	bytes    []byte // printed to stream and not yet in text
}

// endOutput writes down what was printed so far.
func (s *transcript) endOutput() {
	if s.stream != "" {
		fmt.Fprintf(&s.text, "%s %s\n", s.stream, abridge(fmt.Sprintf("%q", s.bytes)))
		s.stream, s.bytes = "", nil
	}
}

func (s *transcript) line(format string, args ...any) {
	s.endOutput()
	fmt.Fprintf(&s.text, format+"\n", args...)
}

// What is not the same with every Python and every time.
var (
	pid    = regexp.MustCompile(`\bpid \d+`)
	carets = regexp.MustCompile(`(?m)^( +)\^+$`)
)

// abridge keeps a transcript readable where a guest says much.
func abridge(s string) string {
	if len(s) < 2000 {
		return s
	}
	return fmt.Sprintf("%s … %s (%d bytes quoted)", s[:40], s[len(s)-40:], len(s))
}

func (s *transcript) output(t testing.TB, m Message) {
	err := ReadOutput(m.Params, func(o Output) {
		if len(o.Data) == 0 || len(o.Data) > 64<<10 {
			t.Errorf("output of %d bytes", len(o.Data))
		}
		if s.flood && o.Stream == "stdout" {
			return
		}
		if s.stream != o.Stream {
			s.endOutput()
		}
		s.stream = o.Stream
		s.bytes = append(s.bytes, o.Data...)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *transcript) notification(t testing.TB, m Message) {
	switch m.Method {
	case MethodDisplay:
		var d Display
		if err := json.Unmarshal(m.Params, &d); err != nil {
			t.Fatal(err)
		}
		s.line("display %s %d bytes", d.MIME, len(d.Data))
	case MethodCancel:
		s.line("cancel")
	default:
		t.Errorf("notification %s", m.Method)
	}
}

func (s *transcript) result(t testing.TB, m Message) string {
	if m.Error != nil {
		s.line("refused: %v", m.Error)
		return s.text.String()
	}
	var r RunResult
	if err := json.Unmarshal(m.Result, &r); err != nil {
		t.Fatal(err)
	}
	switch {
	case r.Error != nil && s.anywhere:
		s.line("%s anywhere", r.Status)
	case r.Error != nil:
		s.line("%s\n%s", r.Status, carets.ReplaceAllString(abridge(r.Error.Traceback), "${1}^"))
	case r.Exit != nil:
		s.line("%s", strings.TrimSpace(fmt.Sprintf("exit %d %s", r.Exit.Code, r.Exit.Message)))
	case r.Value != nil:
		s.line("ok value %s json %s", abridge(r.Value.Repr), cmp.Or(abridge(string(r.Value.JSON)), "none"))
	default:
		s.line("%s", r.Status)
	}
	for _, note := range r.Notes {
		s.line("note %s", pid.ReplaceAllString(note, "pid N"))
	}
	return s.text.String()
}

// gone notes how the guest ended, and what was left in its pipes.
func (s *transcript) gone(p *peer) string {
	p.cmd.Wait()
	state := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if state.Signaled() {
		s.line("gone signal %v", state.Signal())
	} else {
		s.line("gone exit %d", state.ExitStatus())
	}
	for i, name := range []string{"stdout", "stderr"} {
		if left := p.leftover(i); left != "" {
			s.line("left in %s %s", name, abridge(fmt.Sprintf("%q", left)))
		}
	}
	return s.text.String()
}

// TestStdio plays a run in the shape containers have: the channel is the process's stdin and stdout.
func TestStdio(t *testing.T) {
	boot := unpack(t)
	for _, python := range interpreters(t) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, python, "-I", "-S", "-u", boot, "stdio")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p := &peer{t: t, cmd: cmd, conn: NewConn(stream{out, in}, 64<<20)}
		p.request(MethodInitialize, Initialize{Version: ProtocolVersion, MaxMessage: 64 << 20})
		if m := p.read(); m.Result == nil {
			t.Fatalf("initialize: %+v", m)
		}
		const code = "import os, sys\nos.write(1, b'raw\\n')\nprint('text')\n" +
			"os.system('echo child; cat')\nprint(os.read(0, 10))"
		if said, want := p.run(1, code, ""), "stdout \"raw\\ntext\\nchild\\nb''\\n\"\nok\n"; said != want {
			t.Errorf("guest said %q, want %q", said, want)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("at the end of its channel: %v", err)
		}
	}
}

// TestHostGone proves that a guest ends when its host does, whatever it is doing.
func TestHostGone(t *testing.T) {
	python, boot := interpreters(t)[0], unpack(t)
	for _, code := range []string{
		"", "while True: pass", "import time; time.sleep(60)", "while True: print('x')",
		"import mcp; mcp.call_sync('never')",
	} {
		p := startPeer(t, python, boot, nil, false)
		if code != "" {
			p.request(MethodRun, Run{Run: 1, Code: "print('begun')\n" + code, Filename: "<run 1>"})
			p.read()
		}
		p.channel.Close()
		err := p.cmd.Wait()
		// A write may fail before the end of the stream has been read.
		if status := p.cmd.ProcessState.ExitCode(); status != 0 && status != 70 {
			t.Errorf("guest with %q: %v", code, err)
		}
		p.kill()
	}
}
