package sandbox_test

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"codemode/internal/proc"
	"codemode/internal/proc/proctest"
	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
	"codemode/internal/sandbox/stage2"
)

// household is a user's home with a key in it, beside folders that a program is given.
type household struct {
	home, key   string
	read, write string // folders outside of the home
	trusted     string // a folder, the links on the way to which are followed
	cwd         string // where a program starts; "" is the home
	mark        string
	method      string // how namespaces are made; "" is as it comes
}

func newHousehold(t *testing.T) *household {
	t.Helper()
	base := t.TempDir()
	h := &household{home: base + "/home", read: base + "/read", write: base + "/write", mark: proctest.Mark(t)}
	for _, dir := range []string{h.home + "/.ssh", h.read, h.write} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.key = h.home + "/.ssh/key"
	for _, file := range []string{h.key, h.read + "/note", h.write + "/note"} {
		if err := os.WriteFile(file, []byte("content of "+filepath.Base(file)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// start starts a program in a sandbox.
func (h *household) start(t *testing.T, restrictions sandbox.Restrictions, path string, args ...string) (*proc.Process, error) {
	t.Helper()
	programs := sandbox.NewPrograms(sandbox.ProgramOptions{
		Protected: []string{h.home + "/.config/codemode", h.home + "/later"}, Trusted: []string{h.trusted},
	})
	if h.method != "" {
		sandbox.UseMethodOf(programs, h.method)
	}
	p, err := proc.Start(t.Context(), proc.Spec{
		Path: path, Args: args, Dir: cmp.Or(h.cwd, h.home), Start: programs.Starter(restrictions),
		Env: []string{
			"HOME=" + h.home, "PATH=/usr/local/bin:/usr/bin:/bin", "USER=ada", "TMPDIR=/var/tmp", "TOKEN=of-the-entry",
			"GORACE=atexit_sleep_ms=0", proctest.Variable + "=" + h.mark,
		},
	})
	var unavailable *sandbox.UnavailableError
	if errors.As(err, &unavailable) && strings.HasPrefix(unavailable.Code, "userns") {
		require.Lacking(t, "native", "%v", err)
	}
	if err == nil {
		t.Cleanup(func() { _ = p.Stop(0) })
	}
	return p, err
}

// run runs a script in a sandbox to its end.
func (h *household) run(t *testing.T, restrictions sandbox.Restrictions, script string) (out string, err error) {
	t.Helper()
	p, err := h.start(t, restrictions, "/bin/sh", "-c", "exec 2>&1\n"+script)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(p.Stdout())
	return string(b), p.Stop(20 * time.Second)
}

// eachWay runs a test as root and as an ordinary user, and as the latter in bubblewrap's namespaces, too.
func eachWay(t *testing.T, test func(t *testing.T, h *household)) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		before := sandboxtest.TakeLeftovers(t)
		t.Run("userns", func(t *testing.T) { test(t, newHousehold(t)) })
		t.Run("bwrap", func(t *testing.T) {
			if _, err := exec.LookPath("bwrap"); err != nil {
				require.Lacking(t, "bwrap", "bubblewrap is not installed: %v", err)
			}
			h := newHousehold(t)
			h.method = "bwrap"
			if os.Geteuid() == 0 {
				if _, err := h.start(t, sandbox.Restrictions{}, "/bin/true"); err == nil ||
					!strings.Contains(err.Error(), "root") {
					t.Errorf("as root it starts with %v", err)
				}
				return
			}
			test(t, h)
		})
		before.Check(t)
	})
}

// TestProgramFiles holds that a program sees the system, its own empty home and the folders it is given, and changes no
// others.
func TestProgramFiles(t *testing.T) {
	eachWay(t, func(t *testing.T, h *household) {
		restrictions := sandbox.Restrictions{Read: []string{h.read}, Write: []string{h.write}}
		out, err := h.run(t, restrictions, `
			cat `+h.key+`; ls -A $HOME; ls -A /tmp | grep -v Test; ls /root /var/lib/dpkg 2>&1 | grep -v 'cannot access'
			echo user $(id -un) $(id -u) home $HOME temp $TMPDIR token $TOKEN
			cat `+h.read+`/note; echo
			echo new > `+h.read+`/new
			cat `+h.write+`/note; echo
			echo new > `+h.write+`/new && mv `+h.write+`/new `+h.write+`/newer
			echo mine > $HOME/file && cat $HOME/file
			for f in /usr/x /etc/x /x /dev/x /usr/bin/sh; do echo x > $f; done
			cp /bin/true `+h.write+`/true && chmod 4755 `+h.write+`/true; chmod g+s `+h.write+`/true; ls -l `+h.write+`/true
			printf '#!/bin/sh\necho executed\n' > $HOME/script && chmod +x $HOME/script && $HOME/script
			exit 7`)
		var exit *proc.ExitError
		if !errors.As(err, &exit) || exit.Code != 7 {
			t.Errorf("it ended with %v", err)
		}
		for _, want := range []string{
			"user ada ", "home " + h.home + " temp /tmp token of-the-entry\n", "content of note\n",
			"Operation not permitted\n-rwxr-xr-x ", "\nmine\n", "\nexecuted\n", "Read-only file system", h.key + ": No such file",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing", want)
			}
		}
		if strings.Contains(out, "content of key") {
			t.Error("it read the key")
		}
		if b, err := os.ReadFile(h.write + "/newer"); string(b) != "new\n" {
			t.Errorf("what it wrote is %q, %v", b, err)
		}
		if info, err := os.Stat(h.write + "/newer"); err == nil && !ownedByUs(info) {
			t.Error("what it wrote belongs to another user")
		}
		for _, name := range []string{h.read + "/new", h.home + "/file", "/usr/x", "/etc/x", "/x"} {
			if _, err := os.Lstat(name); err == nil {
				t.Errorf("it wrote %s", name)
			}
		}
		if t.Failed() {
			t.Log(out)
		}
	})
}

func ownedByUs(info os.FileInfo) bool { return int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid() }

// TestProgramStreams: a program's streams stay its starter's, who may need them for another attempt.
func TestProgramStreams(t *testing.T) {
	eachWay(t, func(t *testing.T, h *household) {
		programs := sandbox.NewPrograms(sandbox.ProgramOptions{})
		if h.method != "" {
			sandbox.UseMethodOf(programs, h.method)
		}
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		spec := proc.Spec{Path: "/bin/echo", Args: []string{"a"}, Dir: h.home, Env: []string{"HOME=" + h.home}}
		for range 2 {
			p, err := programs.Starter(sandbox.Restrictions{})(t.Context(), spec, [3]*os.File{null, write, write})
			if err != nil {
				t.Fatal(err)
			}
			_ = p.Wait()
			p.Close()
		}
		write.Close()
		if text, err := io.ReadAll(read); err != nil || string(text) != "a\na\n" {
			t.Errorf("read %q, %v", text, err)
		}
	})
}

// TestProgramNetwork holds that a program reaches a server of this machine with a network, and none without.
func TestProgramNetwork(t *testing.T) {
	python := systemPython(t)
	eachWay(t, func(t *testing.T, h *household) {
		var reached atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			reached.Add(1)
			fmt.Fprint(w, "hello")
		}))
		defer server.Close()
		ask := python + ` -c 'import urllib.request as u; print(u.urlopen("` + server.URL + `", timeout=20).read())'`
		if out, err := h.run(t, sandbox.Restrictions{Network: true}, ask); err != nil || out != "b'hello'\n" {
			t.Errorf("with a network: %q, %v", out, err)
		}
		before := reached.Load()
		out, err := h.run(t, sandbox.Restrictions{}, ask)
		if err == nil || before != 1 || reached.Load() != 1 {
			t.Errorf("without a network it ended with %v; %d requests arrived", err, reached.Load())
		}
		if !strings.Contains(out, "Permission denied") && !strings.Contains(out, "unreachable") {
			t.Errorf("why it failed cannot be read: %s", out)
		}
		// Sockets that are no files are of the network.
		abstract, err := net.Listen("unix", "@codemode-program-"+h.mark)
		if err != nil {
			t.Fatal(err)
		}
		defer abstract.Close()
		ask = python + ` -c 'import socket; socket.socket(socket.AF_UNIX).connect("\0codemode-program-` + h.mark + `")'`
		for _, restrictions := range []sandbox.Restrictions{{}, {Network: true}} {
			if restrictions.Network && stage2.LandlockABI() < 6 {
				continue // it holds no sockets
			}
			if out, err := h.run(t, restrictions, ask); err == nil {
				t.Errorf("with %+v it reached an abstract socket: %s", restrictions, out)
			}
		}
	})
}

// TestProgramProcesses holds that a program sees and signals its own processes alone.
func TestProgramProcesses(t *testing.T) {
	eachWay(t, func(t *testing.T, h *household) {
		out, _ := h.run(t, sandbox.Restrictions{}, fmt.Sprintf(`
			ls /proc | grep -c '^[0-9]*$'; kill -0 %d 2>&1; cat /proc/%d/cmdline; cat /proc/self/status | grep -E 'Cap|NoNew|Seccomp:'; unshare -U true`, os.Getpid(), os.Getpid()))
		for _, want := range []string{
			"No such process", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1",
			"Seccomp:\t2", "unshare failed",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in %s", want, out)
			}
		}
	})
}

// TestProgramEnds holds that a program ends as one does without a sandbox, with all its descendants.
func TestProgramEnds(t *testing.T) {
	python := systemPython(t)
	child := `(setsid sleep 1000 &) ; `
	eachWay(t, func(t *testing.T, h *household) {
		for name, c := range map[string]struct {
			script string
			code   int
			signal syscall.Signal
		}{
			"at the end of its input": {script: child + `echo ready; cat; echo closed > ` + h.write + `/end; exit 4`, code: 4},
			"by SIGTERM":              {script: `trap 'echo term > ` + h.write + `/end; exit 5' TERM; ` + child + `echo ready; while :; do sleep 0.01; done`, code: 5},
			"without a handler":       {script: child + `echo ready; exec sleep 1000`, signal: syscall.SIGKILL},
			"against its will":        {script: `trap "" TERM HUP INT; ` + child + `echo ready; while :; do sleep 0.01; done`, signal: syscall.SIGKILL},
		} {
			t.Run(name, func(t *testing.T) {
				os.Remove(h.write + "/end")
				p, err := h.start(t, sandbox.Restrictions{Write: []string{h.write}}, "/bin/sh", "-c", c.script)
				if err != nil {
					t.Fatal(err)
				}
				if line, err := bufio.NewReader(p.Stdout()).ReadString('\n'); line != "ready\n" {
					t.Fatalf("it says %q, %v", line, err)
				}
				grace := 300 * time.Millisecond
				if c.code != 0 {
					grace = 2 * time.Second // for a busy machine, too
				}
				var exit *proc.ExitError
				if err := p.Stop(grace); !errors.As(err, &exit) || exit.Code != c.code ||
					exit.Signal != c.signal {
					t.Errorf("it ended with %v, want code %d or signal %d", err, c.code, c.signal)
				}
				if b, err := os.ReadFile(h.write + "/end"); c.code != 0 && err != nil {
					t.Errorf("its last words are %q, %v", b, err)
				}
			})
		}
		p, err := h.start(
			t, sandbox.Restrictions{Memory: 64 << 20}, python, "-c", "x = []\nwhile True: x.append(bytearray(1 << 20))",
		)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), "64 MiB of memory (sandbox_memory)") {
			t.Errorf("out of memory it ended with %v", err)
		}
	})
}

// TestProgramKernelFiles holds that a program is ended which has the kernel keep what it reads many files of /proc into.
func TestProgramKernelFiles(t *testing.T) {
	python := systemPython(t)
	eachWay(t, func(t *testing.T, h *household) {
		for count, want := range map[int]string{200: "", 300: "files of /proc"} {
			p, err := h.start(t, sandbox.Restrictions{}, python, "-c", fmt.Sprintf(
				"import os, time\nfor _ in range(%d): os.read(os.open('/proc/self/status', os.O_RDONLY), 1)\ntime.sleep(3)", count,
			))
			if err != nil {
				t.Fatal(err)
			}
			<-p.Done()
			if err := p.Err(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("with %d it ended with %v", count, err)
			}
		}
	})
}

// TestProgramStderr holds that what a program writes to standard error is kept, and that it inherits nothing else.
func TestProgramStderr(t *testing.T) {
	eachWay(t, func(t *testing.T, h *household) {
		p, err := h.start(t, sandbox.Restrictions{}, "/bin/sh", "-c", "echo last words >&2; ls /proc/self/fd; exit 9")
		if err != nil {
			t.Fatal(err)
		}
		fds, _ := io.ReadAll(p.Stdout())
		<-p.Done()
		if text, _ := p.Stderr(); !strings.HasSuffix(text, "last words\n") {
			t.Errorf("its stderr is %q", text)
		}
		if string(fds) != "0\n1\n2\n3\n" { // 3 is the directory that ls reads
			t.Errorf("its descriptors are %q", fds)
		}
	})
}

// TestProgramRefused holds what restrictions cannot be, and that the error names the path.
func TestProgramRefused(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		h := newHousehold(t)
		if err := errors.Join(
			os.MkdirAll(h.home+"/.config/codemode", 0o755), os.Symlink(h.home+"/.config", h.write+"/link"),
			os.Symlink(h.read+"/later.json", h.home+"/later"), // which is not there yet
			os.Mkdir(h.write+"/sub", 0o755),
		); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			restrictions sandbox.Restrictions
			want         []string
		}{
			"missing":              {sandbox.Restrictions{Read: []string{h.read + "/none"}}, []string{"sandbox_read", h.read + "/none", "no such file"}},
			"relative":             {sandbox.Restrictions{Write: []string{"some/where"}}, []string{"sandbox_write", "some/where", "absolute"}},
			"everything":           {sandbox.Restrictions{Read: []string{"/"}}, []string{"whole file system"}},
			"the kernel's":         {sandbox.Restrictions{Read: []string{"/proc/1"}}, []string{"/proc"}},
			"the system's":         {sandbox.Restrictions{Write: []string{"/etc"}}, []string{"sandbox_write", "/etc"}},
			"codemode's":           {sandbox.Restrictions{Write: []string{h.home + "/.config/codemode"}}, []string{"codemode keeps"}},
			"above codemode's":     {sandbox.Restrictions{Write: []string{h.home}}, []string{"codemode keeps"}},
			"by way of a link":     {sandbox.Restrictions{Write: []string{h.write + "/link"}}, []string{"is a link: name"}},
			"a link of codemode's": {sandbox.Restrictions{Write: []string{h.read}}, []string{"codemode keeps"}},
			"within what changes":  {sandbox.Restrictions{Write: []string{h.write}, Read: []string{h.write + "/sub"}}, []string{"sandbox_read", h.write + "/sub", "sandbox_write"}},
		} {
			_, err := h.start(t, c.restrictions, "/bin/true")
			var restrictions *sandbox.RestrictionsError
			if !errors.As(err, &restrictions) {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v does not say %q", name, err, want)
				}
			}
		}
		if _, err := h.start(t, sandbox.Restrictions{}, h.home+"/.ssh/key"); err == nil {
			t.Error("what is no program has started")
		}
	})
}

// TestProgramLinks holds that a path is seen as it is written, where links on the way to a trusted folder lead to it;
// and that no other link is followed, which code may have made that may change a folder.
func TestProgramLinks(t *testing.T) {
	eachWay(t, func(t *testing.T, h *household) {
		link := filepath.Dir(h.home) + "/link"
		if err := errors.Join(
			os.Symlink(h.read, link), os.Symlink(h.home+"/.ssh", h.write+"/planted"),
			os.Symlink(h.key, h.write+"/program"),
		); err != nil {
			t.Fatal(err)
		}
		for field, restrictions := range map[string]sandbox.Restrictions{
			"sandbox_read": {Read: []string{h.write + "/planted"}}, "sandbox_write": {Write: []string{link + "/"}},
		} {
			if _, err := h.start(t, restrictions, "/bin/true"); err == nil ||
				!strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), "is a link: name") {
				t.Errorf("with %+v it starts: %v", restrictions, err)
			}
		}
		h.cwd = h.write + "/planted"
		if _, err := h.start(t, sandbox.Restrictions{}, "/bin/true"); err == nil ||
			!strings.Contains(err.Error(), "cwd names") {
			t.Errorf("it starts in what a link leads to: %v", err)
		}
		h.cwd, h.trusted = "", link
		out, _ := h.run(t, sandbox.Restrictions{Read: []string{link}, Write: []string{h.write}},
			"cat "+link+"/note; cat "+h.read+"/note; cat "+h.write+"/planted/key; cat "+h.key)
		if strings.Count(out, "content of note") != 2 {
			t.Errorf("the note is not seen twice: %s", out)
		}
		if strings.Contains(out, "content of key") {
			t.Errorf("the key is seen: %s", out)
		}
		p, err := h.start(t, sandbox.Restrictions{Write: []string{h.write}}, h.write+"/program")
		if err == nil {
			t.Errorf("a planted program has started: %v", p.Stop(0))
		}
	})
}
