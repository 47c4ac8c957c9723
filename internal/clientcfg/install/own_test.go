package install

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"
)

// serversFile writes a file of servers, and what a killed codemode has left beside it.
func serversFile(t *testing.T, text string) (i *Installer, path string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "own.json")
	for name, content := range map[string]string{path: text, filepath.Join(dir, ".own.json.codemode-LEFT"): text} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &Installer{State: filepath.Join(dir, "state")}, path
}

// TestSwitchedAtOnce: whatever is said to be switched off is, though many do so at once; the file keeps its mode, and
// nothing is left beside it.
func TestSwitchedAtOnce(t *testing.T) {
	const servers = 8
	var entries []string
	for n := range servers {
		entries = append(entries, fmt.Sprintf(`"s%d": {"command": "x"}`, n))
	}
	i, path := serversFile(t, `{"mcpServers": {`+strings.Join(entries, ", ")+`}}`)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for n := range servers {
		wg.Go(func() {
			if err := i.SwitchOwn(t.Context(), path, fmt.Sprintf("s%d", n), false); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range servers {
		if !gjson.GetBytes(data, fmt.Sprintf("mcpServers.s%d.disabled", n)).Bool() {
			t.Errorf("s%d is still on: %s", n, data)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o640 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".own*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// TestRenamedAtOnce: of two servers that are given one name at once, one keeps its own.
func TestRenamedAtOnce(t *testing.T) {
	i, path := serversFile(t, `{"mcpServers": {"a": {"command": "first"}, "b": {"command": "second"}}}`)
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for n, name := range []string{"a", "b"} {
		wg.Go(func() { errs[n] = i.RenameOwn(t.Context(), path, name, "z", path) })
	}
	wg.Wait()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if (errs[0] == nil) == (errs[1] == nil) || !strings.Contains(string(data), "first") ||
		!strings.Contains(string(data), "second") {
		t.Errorf("they ended as %v: %s", errs, data)
	}
}

// TestRemovedWithAnother: a file is not removed that holds anything else; else nothing of it is left.
func TestRemovedWithAnother(t *testing.T) {
	for _, text := range []string{
		`{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`,
		`{"mcpServers": {"a": {"command": "x"}}, "servers": {"b": {"command": "y"}}}`,
		`{"mcpServers": {"a": {"command": "x"}}, "mine": {"kept": 1}}`,
		`{"mcpServers": {"a": {"command": "x"} /* "b": {"command": "y"} */}}`,
	} {
		i, path := serversFile(t, text)
		err := i.RemoveOwn(t.Context(), path, "a")
		if err == nil || !strings.Contains(err.Error(), "it holds more than that server") {
			t.Errorf("it ended as %v", err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != text {
			t.Errorf("it is %s now, %v", data, err)
		}
	}
	for _, text := range []string{
		`{"$schema": "x", "a": {"command": "x"}}`, `{"description": "x", "mcpServers": {"a": {"command": "x"}}}`,
		`{"client": "cursor", "mcpServers": {"a": {"command": "x"}}}`, // as adopted
	} {
		i, path := serversFile(t, text)
		if err := i.RemoveOwn(t.Context(), path, "a"); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*own*")); len(left) > 0 {
			t.Errorf("%q is left", left)
		}
	}
}

// TestOwnThereTwice: where a file has two servers of a name, neither is lost.
func TestOwnThereTwice(t *testing.T) {
	const text = `{"mcpServers": {"a": {"command": "x"}, "\u0061": {"command": "y"}}}`
	i, path := serversFile(t, text)
	for _, err := range []error{
		i.SwitchOwn(t.Context(), path, "a", false), i.RenameOwn(t.Context(), path, "a", "z", path),
		i.RemoveOwn(t.Context(), path, "a"),
	} {
		if err == nil || !strings.Contains(err.Error(), `"a" is there twice; remove one by hand`) {
			t.Errorf("it ended as %v", err)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != text {
		t.Errorf("it has %s now, %v", data, err)
	}
}

// TestOwnReadOnly: a file that its user has closed to writing is not written.
func TestOwnReadOnly(t *testing.T) {
	i, path := serversFile(t, `{"mcpServers": {"a": {"command": "x"}}}`)
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := i.SwitchOwn(t.Context(), path, "a", false); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("it was switched: %v", err)
	}
}
