package install

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/clientcfg"
	"codemode/internal/require"
)

func client(t *testing.T, id string) clientcfg.Client {
	t.Helper()
	for _, c := range clientcfg.Clients() {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("there is no client %q", id)
	return clientcfg.Client{}
}

func cursorAt(t *testing.T, root, text string) (*Installer, Request, string) {
	t.Helper()
	i := newInstaller(root)
	path := filepath.Join(root, "home", ".cursor", "mcp.json")
	write(t, path, text)
	return i, Request{Client: client(t, "cursor"), Scope: clientcfg.User, Name: DefaultName}, path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// only is the one result, and what is in the folder beside the file.
func only(t *testing.T, results []Result, path string) Result {
	t.Helper()
	if len(results) != 1 {
		t.Fatalf("results: %+v", results)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"+tempMark+"*"))
	if err != nil || len(names) > 0 {
		t.Errorf("left beside the file: %v", names)
	}
	return results[0]
}

// TestChangedMeanwhile is sample 11: what another program writes between plan and write is kept, and ours comes on top.
func TestChangedMeanwhile(t *testing.T) {
	i, req, path := cursorAt(t, t.TempDir(), `{"mcpServers": {}}`)
	n := 0
	i.hooks.planned = func() {
		if n++; n < 3 {
			write(t, path, fmt.Sprintf(`{"mcpServers": {"theirs": {"command": "%d"}}}`, n))
		}
	}
	r := only(t, i.Install(t.Context(), req), path)
	if r.Action != Installed || n != 3 {
		t.Fatalf("%+v after %d plans", r, n)
	}
	if text := read(t, path); !strings.Contains(text, `"theirs": {"command": "2"}`) ||
		!strings.Contains(text, `"codemode"`) {
		t.Error(text)
	}
	i.Uninstall(t.Context(), req)
	if text := read(t, path); text != `{"mcpServers": {"theirs": {"command": "2"}}}` {
		t.Error(text)
	}
}

func TestChangedAgainAndAgain(t *testing.T) {
	i, req, path := cursorAt(t, t.TempDir(), `{}`)
	n := 0
	i.hooks.planned = func() {
		n++
		write(t, path, fmt.Sprintf(`{"n": %d}`, n))
	}
	r := only(t, i.Install(t.Context(), req), path)
	if r.Action != Failed || !errors.Is(r.Err, errBusy) || n != attempts {
		t.Errorf("%+v after %d plans", r, n)
	}
	if text := read(t, path); text != fmt.Sprintf(`{"n": %d}`, attempts) {
		t.Error(text)
	}
	if l, err := i.readLedger(); err != nil || len(l.Records) != 0 {
		t.Errorf("recorded: %+v, %v", l.Records, err)
	}
}

func TestFileAppearsMeanwhile(t *testing.T) {
	i, req, path := cursorAt(t, t.TempDir(), `{}`)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	i.hooks.planned = func() {
		i.hooks.planned = nil
		write(t, path, `{"theirs": 1}`)
	}
	if r := only(t, i.Install(t.Context(), req), path); r.Action != Installed {
		t.Fatalf("%+v", r)
	}
	if text := read(t, path); !strings.Contains(text, `"theirs": 1`) {
		t.Error(text)
	}
}

// TestDiskIsFull lets every write fail in turn: of the backup, the ledger, the file.
func TestDiskIsFull(t *testing.T) {
	const text = `{"mcpServers": {"a": {"command": "a"}}}`
	for fails := range 4 {
		i, req, path := cursorAt(t, t.TempDir(), text)
		n := 0
		i.hooks.write = func(f *os.File, data []byte) error {
			if n++; n == fails+1 {
				_, _ = f.Write(data[:len(data)/2])
				return &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
			}
			_, err := f.Write(data)
			return err
		}
		r := only(t, i.Install(t.Context(), req), path)
		if full := n > fails; full != errors.Is(r.Err, syscall.ENOSPC) || full == r.Done() ||
			full != (r.Snippet != "") {
			t.Errorf("write %d fails: %+v", fails+1, r)
		} else if full &&
			read(t, path) != text {
			t.Errorf("write %d fails: %s", fails+1, read(t, path))
		}
		i.hooks = hooks{}
		i.Uninstall(t.Context(), req)
		if read(t, path) != text {
			t.Errorf("write %d failed, and after it was uninstalled: %s", fails+1, read(t, path))
		}
	}
}

func TestReverted(t *testing.T) {
	root := t.TempDir()
	i := newInstaller(root)
	path := filepath.Join(root, "home", ".claude.json")
	write(t, path, `{}`)
	results := i.Install(
		t.Context(), Request{Client: client(t, "claude-code"), Scope: clientcfg.User, Name: DefaultName},
	)
	write(t, path, `{"numStartups": 2}`) // as a client does that writes what it had in memory
	if err := i.Confirm(t.Context(), results); err != nil {
		t.Fatal(err)
	}
	if r := results[0]; r.Action != Failed || !errors.Is(r.Err, ErrReverted) {
		t.Errorf("%+v", r)
	}
}

func TestBackups(t *testing.T) {
	root := t.TempDir()
	i, req, path := cursorAt(t, root, `{}`)
	for n := range 8 {
		i.Exe = fmt.Sprintf("/opt/%d/codemode", n)
		if r := only(t, i.Install(t.Context(), req), path); !r.Done() {
			t.Fatal(r.Err)
		}
	}
	files, err := os.ReadDir(i.backupDir("cursor"))
	if err != nil || len(files) != keptBackups+1 { // the first is what uninstall needs
		t.Errorf("%d backups, %v", len(files), err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != private {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
	i.Uninstall(t.Context(), req)
	if read(t, path) != `{}` {
		t.Error(read(t, path))
	}
}

// TestClineIsWriting waits for a lock of Cline's that is fresh, and passes over one that is stale.
func TestClineIsWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	if err := os.Mkdir(path+".lock", 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := lockDir(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a fresh lock: %v", err)
	}
	old := time.Now().Add(-2 * staleLock)
	if err := os.Chtimes(path+".lock", old, old); err != nil {
		t.Fatal(err)
	}
	unlock, err := lockDir(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if exists(path + ".lock") {
		t.Error("the lock is left")
	}
}

// TestMain makes the test binary a program that installs, for those tests that need one.
func TestMain(m *testing.M) {
	root, name := os.Getenv("INSTALL_ROOT"), os.Getenv("INSTALL_NAME")
	if root == "" {
		os.Exit(m.Run())
	}
	i := newInstaller(root)
	req := Request{Scope: clientcfg.User, Name: name}
	for _, c := range clientcfg.Clients() {
		if c.ID == "cursor" {
			req.Client = c
		}
	}
	for n, begun := 0, time.Now(); n < 20 || name == DefaultName; n++ {
		if n == 1 {
			fmt.Println(time.Since(begun)) // how long one turn takes here: ready
		}
		for _, r := range slices.Concat(i.Install(context.Background(), req), i.Uninstall(context.Background(), req)) {
			if !r.Done() && !errors.Is(r.Err, errBusy) {
				fmt.Println(r.Err)
				os.Exit(1)
			}
		}
	}
	for _, r := range i.Install(context.Background(), req) {
		for !r.Done() {
			r = i.Install(context.Background(), req)[0]
		}
	}
}

func installer(t *testing.T, root, name string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "INSTALL_ROOT="+root, "INSTALL_NAME="+name)
	return cmd
}

// TestKilled kills a program that installs and uninstalls all the time, at hundreds of moments. The file is the old one
// or the new one, always; and what is left beside it goes with the next.
func TestKilled(t *testing.T) {
	kills := 50
	if require.Named("random") {
		kills = 200
	}
	root := t.TempDir()
	pad := strings.Repeat("x", 64<<10) // a file of some pages
	old := fmt.Sprintf(`{"mcpServers": {"a": {"command": "a"}}, "pad": %q}`, pad)
	i, req, path := cursorAt(t, root, old)
	i.Install(t.Context(), req)
	whole := read(t, path)
	seen := map[string]int{}
	for n := range kills {
		cmd := installer(t, root, DefaultName)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		turn, err := time.ParseDuration(strings.TrimSpace(line))
		if err != nil {
			t.Errorf("it said %q instead of how long a turn takes", line)
		}
		_ = pause(t.Context(), rand.N(2*turn+1))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		switch text := read(t, path); text {
		case old, whole:
			seen[text]++
		default:
			t.Fatalf("killed %d times, and the file is %d bytes of neither", n+1, len(text))
		}
	}
	if seen[old] == 0 || seen[whole] == 0 {
		t.Errorf("%d times the old one and %d times the new one: the moments were not random", seen[old], seen[whole])
	}
	i.Install(t.Context(), req)
	r := only(t, i.Uninstall(t.Context(), req), path)
	if r.Err != nil || read(t, path) != old {
		t.Errorf("after all that: %v, %d bytes", r.Err, len(read(t, path)))
	}
}

// TestWritersAtOnce has two programs install, while a client counts in the same file and must find its last number
// there each time: nobody's change is lost.
func TestWritersAtOnce(t *testing.T) {
	root := t.TempDir()
	_, _, path := cursorAt(t, root, `{"count": 0, "mcpServers": {}}`)
	write(t, path+".other", "")
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for range 2 {
		if err := swap(dir, "mcp.json.other", "mcp.json"); err != nil {
			require.Lacking(t, "exchange", "this system does not exchange files: %v", err)
		}
	}
	a, b := installer(t, root, "one"), installer(t, root, "two")
	for _, cmd := range []*exec.Cmd{a, b} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 2)
	go func() { ended <- a.Wait() }()
	go func() { ended <- b.Wait() }()
	count := 0
	for left := 2; left > 0; {
		select {
		case err := <-ended:
			if left--; err != nil {
				t.Error(err)
			}
		case <-time.After(3 * time.Millisecond):
			count = countOn(t, path, count)
		}
	}
	var last struct {
		Count   int
		Servers map[string]any `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(read(t, path)), &last); err != nil {
		t.Fatal(err)
	}
	if last.Count != count || last.Servers["one"] == nil || last.Servers["two"] == nil {
		t.Errorf("%+v, and the client counted to %d", last, count)
	}
}

// countOn is what a client does that replaces its file only while that is what it has read, as codemode does.
func countOn(t *testing.T, path string, count int) int {
	t.Helper()
	f, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	is := fmt.Sprintf(`"count": %d,`, count)
	if !strings.Contains(string(f.data), is) {
		t.Fatalf("the client wrote %s and finds %s", is, f.data)
	}
	text := strings.Replace(string(f.data), is, fmt.Sprintf(`"count": %d,`, count+1), 1)
	write(t, filepath.Join(filepath.Dir(path), "client.tmp"), text)
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	switch err := exchange(dir, "client.tmp", filepath.Base(path), f.data); {
	case err == nil:
		return count + 1
	case errors.Is(err, errChanged):
		return count
	default:
		t.Fatal(err)
		return 0
	}
}

// TestProjectLinks holds that no link of a project is followed, to whatever it leads.
func TestProjectLinks(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, project, victim string){
		"the file": func(t *testing.T, project, victim string) {
			link(t, filepath.Join(victim, "file"), filepath.Join(project, ".cursor", "mcp.json"))
		},
		"the file, within the project": func(t *testing.T, project, _ string) {
			write(t, filepath.Join(project, "package.json"), `{}`)
			link(t, "../package.json", filepath.Join(project, ".cursor", "mcp.json"))
		},
		"the file, to nothing": func(t *testing.T, project, victim string) {
			link(t, filepath.Join(victim, "new"), filepath.Join(project, ".cursor", "mcp.json"))
		},
		"the folder": func(t *testing.T, project, victim string) {
			link(t, victim, filepath.Join(project, ".cursor"))
		},
		"the folder, within the project": func(t *testing.T, project, _ string) {
			write(t, filepath.Join(project, "sub", "file"), ``)
			link(t, "sub", filepath.Join(project, ".cursor"))
		},
		"the folder, to nothing": func(t *testing.T, project, victim string) {
			link(t, filepath.Join(victim, "new"), filepath.Join(project, ".cursor"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			i, req, project, victim := cursorInProject(t)
			plant(t, project, victim)
			before := tree(t, filepath.Dir(project))
			r := i.Install(t.Context(), req)[0]
			var found *LinkError
			if r.Action != Refused || !errors.As(r.Err, &found) {
				t.Errorf("%+v", r)
			}
			if after := tree(t, filepath.Dir(project)); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// TestProjectLinksMeanwhile plants a link between the plan and the write: the folder that was opened is the one that is
// written.
func TestProjectLinksMeanwhile(t *testing.T) {
	for name, text := range map[string]string{"a file that is there": `{}`, "a new file": ""} {
		for step, at := range map[string]func(*hooks) *func(){
			"planned":  func(h *hooks) *func() { return &h.planned },
			"compared": func(h *hooks) *func() { return &h.compared },
		} {
			t.Run(name+", "+step, func(t *testing.T) {
				i, req, project, victim := cursorInProject(t)
				folder := filepath.Join(project, ".cursor")
				if err := os.Mkdir(folder, 0o755); err != nil {
					t.Fatal(err)
				}
				if text != "" {
					write(t, filepath.Join(folder, "mcp.json"), text)
					write(t, filepath.Join(victim, "mcp.json"), text)
				}
				before := tree(t, victim)
				hook := at(&i.hooks)
				*hook = func() {
					*hook = nil
					if err := os.Rename(folder, folder+".was"); err != nil {
						t.Error(err)
					}
					link(t, victim, folder)
				}
				i.Install(t.Context(), req)
				if after := tree(t, victim); after != before {
					t.Errorf("before:\n%s\nafter:\n%s", before, after)
				}
			})
		}
	}
}

// TestProjectFileOfTwoNames replaces a file that has another name elsewhere (a hard link), and leaves that one as it
// is.
func TestProjectFileOfTwoNames(t *testing.T) {
	i, req, project, victim := cursorInProject(t)
	path := filepath.Join(project, ".cursor", "mcp.json")
	write(t, filepath.Join(victim, "other"), `{}`)
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(victim, "other"), path); err != nil {
		t.Fatal(err)
	}
	if r := only(t, i.Install(t.Context(), req), path); r.Action != Installed || r.Path != path {
		t.Errorf("%+v", r)
	}
	if text := read(t, filepath.Join(victim, "other")); text != `{}` || !strings.Contains(read(t, path), `"codemode"`) {
		t.Errorf("%s", text)
	}
	if r := only(t, i.Uninstall(t.Context(), req), path); r.Action != Removed || read(t, path) != `{}` {
		t.Errorf("%+v", r)
	}
}

// cursorInProject is a project beside a folder that nothing must be written to.
func cursorInProject(t *testing.T) (i *Installer, req Request, project, victim string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	i = newInstaller(root)
	project, victim = filepath.Join(root, "world", "project"), filepath.Join(root, "world", "victim")
	write(t, filepath.Join(project, ".git", "HEAD"), "")
	write(t, filepath.Join(victim, "file"), `{}`)
	i.Env.WorkDir = project
	return i, Request{Client: client(t, "cursor"), Scope: clientcfg.Project, Name: DefaultName}, project, victim
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// tree is all that is below a folder.
func tree(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := ""
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			text, err = os.Readlink(path)
		case d.Type().IsRegular():
			text = read(t, path)
		}
		fmt.Fprintf(&b, "%s %v %q\n", path, d.Type(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestDisplacedIsKept is of what another program puts there at the last moment: whatever it is, it is there afterwards.
func TestDisplacedIsKept(t *testing.T) {
	i, req, path := cursorAt(t, t.TempDir(), `{}`)
	i.hooks.compared = func() {
		i.hooks.compared = nil
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
		link(t, "theirs", path)
	}
	r := only(t, i.Install(t.Context(), req), path)
	if to, err := os.Readlink(path); r.Done() || r.Err == nil || err != nil || to != "theirs" {
		t.Errorf("%+v; the link: %q, %v", r, to, err)
	}
}

// TestLedgerLocked holds that a lock which somebody does not give back ends in an error, and that nothing is written.
func TestLedgerLocked(t *testing.T) {
	i, req, path := cursorAt(t, t.TempDir(), "{}")
	synctest.Test(t, func(t *testing.T) {
		held, err := i.lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		r := i.Install(t.Context(), req)
		if len(r) != 1 || r[0].Err == nil || !strings.Contains(r[0].Err.Error(), "nothing was written: another process has held the lock") ||
			!strings.Contains(r[0].Err.Error(), "installed.lock") ||
			read(t, path) != "{}" {
			t.Errorf("installing: %+v", r)
		}
	})
}
