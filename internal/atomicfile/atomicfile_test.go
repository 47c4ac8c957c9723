package atomicfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestLeftByAKilled: a write removes what a killed process has left of its own files, at once where a lock says that
// nobody else is writing them, and nothing else.
func TestLeftByAKilled(t *testing.T) {
	for _, c := range []struct {
		what  string
		write func(path string) error
		gone  []string
	}{
		{
			"beside others", func(path string) error { return Write(path, ".new-*", []byte("x")) },
			[]string{".new-2"},
		},
		{
			"locked", func(path string) error { return WriteLocked(path, []byte("x")) },
			[]string{".kept.json.new-1", ".kept.json.new-2"},
		},
	} {
		dir := t.TempDir()
		others := []string{
			".new-1", ".new-2", ".kept.json.new-1", ".kept.json.new-2", ".kept.json.new-a",
			".other.json.new-1", "new-1",
		}
		for _, name := range others {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		old := time.Now().Add(-2 * abandoned)
		for _, name := range []string{".new-2", ".kept.json.new-2"} {
			if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.write(filepath.Join(dir, "kept.json")); err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(append(others, "kept.json"), func(name string) bool {
			return slices.Contains(c.gone, name)
		})
		var left []string
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if slices.Sort(want); !slices.Equal(left, want) {
			t.Errorf("%s: there are %q, want %q", c.what, left, want)
		}
	}
}

// TestCreate: of many who create a file at once, one does, and what is there is all of its; nothing else is left.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new")
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for n := range errs {
		wg.Go(func() { errs[n] = Create(path, ".new-*", bytes.Repeat([]byte{byte('0' + n)}, 1<<16)) })
	}
	wg.Wait()
	made := slices.Index(errs, nil)
	data, err := os.ReadFile(path)
	if err != nil || made < 0 || !bytes.Equal(data, bytes.Repeat([]byte{byte('0' + made)}, 1<<16)) {
		t.Errorf("they ended as %v, and there is %.10q, %v", errs, data, err)
	}
	for n, err := range errs {
		if n != made && !errors.Is(err, fs.ErrExist) {
			t.Errorf("another ended as %v", err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%v are left", entries)
	}
}
