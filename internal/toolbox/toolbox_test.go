package toolbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// saver makes the test binary a process that saves tools into the folder it names, and says which it has saved.
const saver = "CODEMODE_TEST_SAVER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(saver); dir != "" {
		for i := range maxTools {
			t := tool(fmt.Sprintf("t%d", i))
			if _, err := New(dir, nil).Save(context.Background(), t, false); err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
			fmt.Println(t.Name)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func tool(name string) Tool {
	return Tool{
		Name: name, Source: "def " + name + "(): pass\n", Signature: name + "()", Doc: "It does nothing <&>.",
		Params: []Param{{Name: "x", Type: "int", Required: true}}, Needs: []string{"other"},
		Uses: []Use{{"github", "create_issue", "abc"}}, Saved: time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC),
	}
}

func save(t *testing.T, b *Box, name, source string, replace bool) (Change, error) {
	t.Helper()
	saved := tool(name)
	saved.Source = source
	return b.Save(t.Context(), saved, replace)
}

func TestSaveAndLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tools")
	b := New(dir, nil)
	if tools, problems := b.List(); tools != nil || problems != nil || b.Stamp() != "" {
		t.Errorf("of no directory: %v, %v", tools, problems)
	}
	for _, name := range []string{"two", "one"} {
		if change, err := b.Save(t.Context(), tool(name), false); change != Added || err != nil {
			t.Errorf("%s: %s, %v", name, change, err)
		}
	}
	got, err := b.Load("one")
	if fmt.Sprint(got) != fmt.Sprint(tool("one")) || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	tools, problems := b.List()
	if len(tools) != 2 || tools[0].Name != "one" || problems != nil {
		t.Errorf("list %v, %v", tools, problems)
	}
	if info, err := os.Stat(b.path("one")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("file: %v, %v", info.Mode(), err)
	}
	before := b.Stamp()
	if err := b.Remove(t.Context(), "one", "three"); !errors.Is(err, ErrNone) {
		t.Errorf("removing what is not there: %v", err)
	}
	if err := b.Remove(t.Context(), "one"); err != nil || b.Stamp() == before {
		t.Errorf("removing: %v", err)
	}
	if _, err := b.Load("one"); !errors.Is(err, ErrNone) {
		t.Errorf("after removing: %v", err)
	}
}

func TestReplace(t *testing.T) {
	b := New(t.TempDir(), nil)
	var exists *ExistsError
	for _, c := range []struct {
		name, source string
		replace      bool
		change       Change
		fails        bool
	}{
		{"a", "1", false, Added, false},
		{"a", "1", false, Same, false},
		{"a", "2", false, "", true},
		{"A", "2", true, "", true},
		{"a", "2", true, Replaced, false},
	} {
		change, err := save(t, b, c.name, c.source, c.replace)
		if change != c.change || errors.As(err, &exists) != c.fails {
			t.Errorf("%+v: %s, %v", c, change, err)
		}
	}
	if got, _ := b.Load("a"); got.Source != "2" {
		t.Errorf("kept %q", got.Source)
	}
}

func TestBounds(t *testing.T) {
	b := New(t.TempDir(), nil)
	for _, name := range []string{"", "../x", "a/b", "a.b", "_x", "1a", ".lock", "größe", strings.Repeat("a", 65)} {
		if _, err := save(t, b, name, "x", true); err == nil {
			t.Errorf("%q was saved", name)
		}
		if _, err := b.Load(name); !errors.Is(err, ErrNone) {
			t.Errorf("%q was looked for: %v", name, err)
		}
	}
	if _, err := save(t, b, "large", strings.Repeat("x", MaxSource+1), false); err == nil {
		t.Error("a tool that is too large was saved")
	}
	wordy := tool("wordy")
	wordy.Doc = strings.Repeat("x", maxFile)
	if _, err := b.Save(t.Context(), wordy, false); err == nil {
		t.Error("a tool of which too much is said was saved, and could not be read again")
	}
	for i := range maxTools {
		if _, err := save(t, b, fmt.Sprintf("t%d", i), "x", false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := save(t, b, "more", "x", false); err == nil {
		t.Error("one tool too many was saved")
	}
	if change, err := save(t, b, "t7", "y", true); change != Replaced || err != nil {
		t.Errorf("replacing one of a full box: %s, %v", change, err)
	}
}

// What is not as it was written is told, costs only itself, and can be removed or replaced.
func TestDamage(t *testing.T) {
	good, err := os.ReadFile(written(t, "good"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"empty":   "",
		"half":    string(good[:len(good)/2]),
		"changed": strings.Replace(string(good), "pass", "evil", 1),
		"newer":   strings.Replace(string(good), `"codemode":1`, `"codemode":2`, 1),
		"other":   string(good), // another tool's file under this name
		"large":   strings.Repeat(" ", maxFile+1) + string(good),
	} {
		b := New(t.TempDir(), nil)
		if _, err := save(t, b, "fine", "x", false); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(b.path(name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Load(name); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%s: loading: %v", name, err)
		}
		if tools, problems := b.List(); len(tools) != 1 || len(problems) != 1 {
			t.Errorf("%s: %d tools, %v", name, len(tools), problems)
		}
		if _, err := save(t, b, name, "x", false); err == nil {
			t.Errorf("%s: written over", name)
		}
		if change, err := save(t, b, name, "x", true); change != Replaced || err != nil {
			t.Errorf("%s: replacing: %s, %v", name, change, err)
		}
		if err := b.Remove(t.Context(), name); err != nil {
			t.Errorf("%s: removing: %v", name, err)
		}
	}
}

func written(t *testing.T, name string) string {
	t.Helper()
	b := New(t.TempDir(), nil)
	if _, err := b.Save(t.Context(), tool(name), false); err != nil {
		t.Fatal(err)
	}
	return b.path(name)
}

// What a process left that was killed while it wrote is taken away by the next change.
func TestLeftovers(t *testing.T) {
	b := New(t.TempDir(), nil)
	stale := filepath.Join(b.dir, tempPrefix+"123")
	if err := os.WriteFile(stale, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := save(t, b, "a", "x", false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(stale); err == nil {
		t.Error("the half of a file is still there")
	}
}

// Of any number of savers of one name one saves it, and each tool is whole whenever it is read.
func TestSavesAtOnce(t *testing.T) {
	dir := t.TempDir()
	var work sync.WaitGroup
	var mu sync.Mutex
	added := 0
	for i := range 16 {
		work.Go(func() {
			b := New(dir, nil)
			if change, _ := save(t, b, "same", fmt.Sprint(i), false); change == Added {
				mu.Lock()
				added++
				mu.Unlock()
			}
			if _, err := save(t, b, fmt.Sprintf("own%d", i), "x", false); err != nil {
				t.Error(err)
			}
			if _, problems := b.List(); problems != nil {
				t.Error(problems)
			}
		})
	}
	work.Wait()
	if tools, _ := New(dir, nil).List(); added != 1 || len(tools) != 17 {
		t.Errorf("%d added, %d tools", added, len(tools))
	}
}

// A save that was acknowledged survives the death of its process at whatever moment.
func TestKilledSaver(t *testing.T) {
	for round := range 8 {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), saver+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var acknowledged []string
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			acknowledged = append(acknowledged, lines.Text())
			if len(acknowledged) == 1+3*round {
				_ = cmd.Process.Kill() // what it has said already is still read
			}
		}
		_ = cmd.Wait()
		b := New(dir, nil)
		for _, name := range acknowledged {
			if got, err := b.Load(name); err != nil || got.Source != tool(name).Source {
				t.Errorf("round %d: %s is lost: %v", round, name, err)
			}
		}
		if _, problems := b.List(); problems != nil {
			t.Errorf("round %d: %v", round, problems)
		}
		if _, err := save(t, b, "next", "x", false); err != nil {
			t.Errorf("round %d: the next one: %v", round, err)
		}
	}
}

// Nobody waits for the lock longer than he wants.
func TestLockIsWaitedForInVain(t *testing.T) {
	b := New(t.TempDir(), nil)
	err := b.locked(t.Context(), func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := b.Save(ctx, tool("a"), false)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("saving: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A lock that somebody does not give back ends in an error.
func TestLockIsNotGivenBack(t *testing.T) {
	b := New(t.TempDir(), nil)
	if _, err := save(t, b, "a", "x", false); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		err := b.locked(t.Context(), func() error { return b.Remove(t.Context(), "a") })
		if err == nil ||
			!strings.Contains(err.Error(), "the saved tools stay as they are: another process has held the lock") {
			t.Errorf("removing: %v", err)
		}
	})
}
