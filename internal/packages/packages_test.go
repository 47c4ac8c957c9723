package packages

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"codemode/internal/packages/packagestest"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"
	"codemode/internal/sandbox/sandboxtest"
)

// newStore is a store of its own, with the interpreter that all tests share.
func newStore(t testing.TB) *Store {
	t.Helper()
	dir := t.TempDir()
	return &Store{
		State: filepath.Join(dir, "state"), Cache: filepath.Join(dir, "cache"),
		Source: python.Source{CacheDir: sandboxtest.PythonCache(t)}, Programs: sandbox.NewPrograms(sandbox.ProgramOptions{}),
		Client: &http.Client{},
	}
}

// five are packages of which the first needs all others.
func five() []packagestest.Wheel {
	return []packagestest.Wheel{
		{
			Name: "table-kit", Version: "2.1", Licence: "BSD-3-Clause", Requires: []string{"numbers-kit>=1", "dates-kit"},
			Files: map[string]string{"table_kit/__init__.py": "import numbers_kit\nanswer = numbers_kit.one + 41\n"},
		},
		{Name: "numbers-kit", Version: "1.4", Files: map[string]string{"numbers_kit.py": "one = 1\n"}},
		{Name: "dates-kit", Version: "3.0", Requires: []string{"zones-kit"}, Files: map[string]string{"dates_kit.py": ""}},
		{
			Name: "zones-kit", Version: "2026.1", Requires: []string{"words-kit; extra == 'all'"},
			Files: map[string]string{"zones_kit.py": ""},
		},
		{Name: "words-kit", Version: "0.1", Files: map[string]string{"words_kit.py": ""}},
	}
}

// TestAdd: packages are chosen, fetched and laid out once; what is there already is taken as it is.
func TestAdd(t *testing.T) {
	s := newStore(t)
	x := packagestest.NewIndex()
	defer x.Close()
	x.Add(five()...)
	w := Wish{Requirements: []string{"table-kit", "words-kit"}, Index: x.URL(), Cooldown: 7 * 24 * time.Hour}
	lock := add(t, s, w)
	if len(lock.Packages) != 5 {
		t.Fatalf("%d packages, want 5:\n%s", len(lock.Packages), lock.encode())
	}
	again, err := ParseLock(lock.encode())
	if err != nil || string(again.encode()) != string(lock.encode()) {
		t.Fatalf("%v: the lock is read as another:\n%s\n%s", err, lock.encode(), again.encode())
	}
	abi, err := s.Source.ABI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	layer, there := s.Layer(lock, abi)
	if !there {
		t.Fatal("there is no layer")
	}
	if found, _ := filepath.Glob(filepath.Join(layer.Host, "table_kit", "__pycache__", "*.pyc")); len(found) != 1 {
		t.Errorf("bytecode %q, want one file", found)
	}
	x.Close() // from here on nothing is fetched
	if err := s.Install(t.Context(), lock, lock); err != nil {
		t.Fatal(err)
	}
}

// add is packages add of a wish, in a store that has nothing.
func add(t testing.TB, s *Store, w Wish) *Lock {
	t.Helper()
	old, err := s.Lock()
	if err != nil {
		t.Fatal(err)
	}
	lock, err := s.Resolve(t.Context(), w, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Install(t.Context(), lock, old); err != nil {
		t.Fatal(err)
	}
	return lock
}

// TestCancelled: pip that waits for an index is ended when nobody waits for it, not asked to end.
func TestCancelled(t *testing.T) {
	s := newStore(t)
	py, err := s.Source.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	var began time.Time
	waits := "import signal\nprint('waits', flush=True)\nwhile True: signal.pause()"
	err = s.run(ctx, py, sandbox.Restrictions{}, []string{waits}, func(string) {
		began = time.Now()
		cancel(gone)
	})
	if took := time.Since(began); !errors.Is(err, gone) || took > stopping/2 {
		t.Errorf("%v, %v after it was cancelled", err, took)
	} else {
		t.Logf("ended in %v", took)
	}
}
