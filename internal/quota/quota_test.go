package quota

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codemode/internal/filelock"
)

// tenant is a folder with outputs that may go, and with what was saved.
type tenant struct {
	dir string
	log bytes.Buffer
	*Budget
}

func newTenant(t *testing.T, max int64) *tenant {
	t.Helper()
	x := &tenant{dir: t.TempDir()}
	x.Budget = x.another(max)
	return x
}

// another is the budget as another process of the tenant has it.
func (x *tenant) another(max int64) *Budget {
	log := slog.New(slog.NewTextHandler(&x.log, nil))
	out, saved := Folder{Path: x.path("out"), Open: true}, Folder{Path: x.path("saved"), Saved: true}
	return New(x.path("lock"), max, log, out, saved)
}

func (x *tenant) path(name string) string { return filepath.Join(x.dir, name) }

// has writes a file of a given age.
func (x *tenant) has(t *testing.T, name string, size int, age time.Duration) {
	t.Helper()
	at := time.Now().Add(-age)
	err := errors.Join(
		os.MkdirAll(filepath.Dir(x.path(name)), 0o700),
		os.WriteFile(x.path(name), make([]byte, size), 0o600),
		os.Chtimes(x.path(name), at, at),
	)
	if err != nil {
		t.Fatal(err)
	}
}

func (x *tenant) there(name string) bool {
	_, err := os.Lstat(x.path(name))
	return err == nil
}

func nothing() error { return nil }

func TestOldestGoes(t *testing.T) {
	x := newTenant(t, 1000)
	x.has(t, "saved/tool", 300, 4*time.Hour)
	x.has(t, "out/a/oldest", 300, 3*time.Hour)
	x.has(t, "out/b/middle", 200, 2*time.Hour)
	x.has(t, "out/b/newest", 100, time.Hour)
	if err := x.Add(t.Context(), 100, "", nothing); err != nil || !x.there("out/a/oldest") || x.log.Len() > 0 {
		t.Fatalf("it fits: %v, %s", err, &x.log)
	}
	if err := x.Add(t.Context(), 101, "", nothing); err != nil {
		t.Fatal(err)
	}
	if x.there("out/a") || !x.there("out/b/middle") || !x.there("out/b/newest") || !x.there("saved/tool") {
		t.Error("not the oldest has gone, or more, or its folder is left")
	}
	if !strings.Contains(x.log.String(), "disk.max_size: 1 files, 300 bytes") {
		t.Errorf("said: %s", &x.log)
	}
}

func TestWhatLasts(t *testing.T) {
	x := newTenant(t, 1000)
	x.has(t, "saved/tool", 600, time.Hour)
	x.has(t, "out/a/own", 300, 2*time.Hour)
	x.has(t, "out/a/other", 50, time.Minute)
	var full *FullError
	err := x.Add(t.Context(), 101, x.path("out/a/own"), func() error { t.Error("written all the same"); return nil })
	if !errors.As(err, &full) || *full != (FullError{101, 900, 1000}) {
		t.Errorf("%v", err)
	}
	if !x.there("out/a/own") || !x.there("out/a/other") {
		t.Error("something was removed for what does not fit")
	}
	if err := x.Add(t.Context(), 100, x.path("out/a/own"), nothing); err != nil || x.there("out/a/other") {
		t.Errorf("what is not own has to go: %v", err)
	}
}

// TestRemovedWhileOpen has a file go that is being written: its room is there although it is open.
func TestRemovedWhileOpen(t *testing.T) {
	x := newTenant(t, 1000)
	x.has(t, "out/a/open", 900, time.Hour)
	f, err := os.OpenFile(x.path("out/a/open"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := x.Add(t.Context(), 500, "", nothing); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
}

// TestManyWriters has several processes add files at once, which together never are more than the budget.
func TestManyWriters(t *testing.T) {
	x := newTenant(t, 1000)
	var writers sync.WaitGroup
	for p := range 4 {
		b := x.another(1000)
		writers.Go(func() {
			for i := range 25 {
				name := filepath.Join("out", string(rune('a'+p)), string(rune('a'+i)))
				err := b.Add(context.Background(), 90, "", func() error {
					x.has(t, name, 90, 0)
					var used int64
					for _, f := range b.files() {
						used += f.size
					}
					if used > 1000 {
						t.Errorf("%d bytes are kept", used)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
}

func TestNoBudget(t *testing.T) {
	var b *Budget
	if err := b.Add(t.Context(), 1<<40, "", nothing); err != nil {
		t.Error(err)
	}
}

// TestLockIsWaitedFor has another process be busy for longer than somebody wants to wait.
func TestLockIsWaitedFor(t *testing.T) {
	x := newTenant(t, 1000)
	held, release := make(chan struct{}), make(chan struct{})
	other := x.another(1000)
	var busy sync.WaitGroup
	busy.Go(func() {
		_ = other.Add(context.Background(), 1, "", func() error { close(held); <-release; return nil })
	})
	<-held
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := x.Add(ctx, 1, "", nothing); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	close(release)
	busy.Wait()
	if err := x.Add(t.Context(), 1, "", nothing); err != nil {
		t.Error(err)
	}
}

// TestLockIsNotGivenBack holds that a lock which somebody keeps ends in an error, and that nothing is written.
func TestLockIsNotGivenBack(t *testing.T) {
	x := newTenant(t, 100)
	synctest.Test(t, func(t *testing.T) {
		held, err := filelock.Take(t.Context(), x.path("lock"))
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		err = x.Add(t.Context(), 1, "", func() error {
			t.Error("written")
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), x.path("lock")) {
			t.Errorf("the error is %v", err)
		}
	})
}
