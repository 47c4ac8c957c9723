package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/clientcfg"
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

// TestOldTextStays: where what was there cannot be removed, it is put back, as nothing is said to be written.
func TestOldTextStays(t *testing.T) {
	const text = `{"mcpServers": {"a": {"command": "a"}}}`
	stays := func(*os.Root, string) error { return syscall.EIO }
	i, req, path := cursorAt(t, t.TempDir(), text)
	i.hooks.remove = stays
	if r := i.Install(t.Context(), req)[0]; !errors.Is(r.Err, syscall.EIO) || read(t, path) != text {
		t.Errorf("%+v; the file is %s", r, read(t, path))
	}
	i.hooks = hooks{}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if r := only(t, i.Install(t.Context(), req), path); !r.Done() {
		t.Fatalf("%+v", r)
	}
	is := read(t, path)
	i.hooks.remove = stays
	if r := i.Uninstall(t.Context(), req)[0]; !errors.Is(r.Err, syscall.EIO) || read(t, path) != is {
		t.Errorf("%+v; the file is %s", r, read(t, path))
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

// TestLedgerFails: while the ledger cannot be written nothing is taken out; where it cannot be afterwards, that is told
// of what was.
func TestLedgerFails(t *testing.T) {
	for from, want := range map[int]Action{1: Refused, 2: Removed} {
		const old = "{\"mcpServers\": {}}\n"
		i, req, path := cursorAt(t, t.TempDir(), old)
		only(t, i.Install(t.Context(), req), path)
		installed, times := read(t, path), 0
		i.hooks.write = func(f *os.File, data []byte) error {
			if strings.Contains(f.Name(), "installed.json") {
				if times++; times >= from {
					return syscall.ENOSPC
				}
			}
			_, err := f.Write(data)
			return err
		}
		r := only(t, i.Uninstall(t.Context(), req), path)
		is := map[string]Action{installed: Refused, old: Removed}[read(t, path)]
		if r.Action != want || is != want || want == Removed && !strings.Contains(strings.Join(r.Notes, " "), "records still") {
			t.Errorf("ledger written %d times: %+v, and the file is as if %s", from-1, r, is)
		}
	}
}
