package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/quota"
)

func newStore(t *testing.T, max int64) *Store {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, "artifacts")
	log := slog.New(slog.DiscardHandler)
	return New(at, quota.New(filepath.Join(dir, "disk.lock"), max, log, quota.Folder{Path: at}))
}

func (s *Store) put(t *testing.T, name, content string) Artifact {
	t.Helper()
	a, err := s.save(t.Context(), name, int64(len(content)), strings.NewReader(content), "run1")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// save keeps one file, as all that a run has left.
func (s *Store) save(ctx context.Context, name string, size int64, r io.Reader, run string) (Artifact, error) {
	saving := s.Save(run)
	defer saving.Close()
	return saving.Put(ctx, name, size, r)
}

func TestPut(t *testing.T) {
	s := newStore(t, 1<<20)
	if len(s.List()) != 0 {
		t.Error("an empty store has artifacts")
	}
	a := s.put(t, "sub/table.csv", "a,b\n1,2\n")
	const sum = "492d5ea496056f1a6a6592241032fab764c321596317930b4fa0e1e8bc3b7470"
	if a.Name != "sub/table.csv" || a.Type != "text/csv" || a.Size != 8 || a.Run != "run1" || a.SHA256 != sum {
		t.Errorf("%+v", a)
	}
	again := s.put(t, "sub/table.csv", "a,b\n1,2\n") // of a second later, perhaps
	if again.ID != a.ID || len(s.List()) != 1 {
		t.Errorf("the same file is another artifact: %+v", s.List())
	}
	if other := s.put(t, "table.csv", "a,b\n1,2\n"); other.ID == a.ID || other.SHA256 != a.SHA256 {
		t.Errorf("another name: %+v", other)
	}
	f, got, err := s.Open(a.ID)
	if err != nil || got != again {
		t.Fatalf("%+v, %v", got, err)
	}
	defer f.Close()
	if data, _ := io.ReadAll(f); string(data) != "a,b\n1,2\n" {
		t.Errorf("%q", data)
	}
	for path, mode := range map[string]os.FileMode{s.Path(a): 0o400, filepath.Join(s.dir, a.ID+meta): 0o600} {
		if fi, err := os.Lstat(path); err != nil || fi.Mode() != mode {
			t.Errorf("%s: %v, %v", path, fi.Mode(), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, temporary+"*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// TestNames: whatever a program calls a file, what is kept has a name that is a file's, in one folder.
func TestNames(t *testing.T) {
	s := newStore(t, 1<<20)
	for name, want := range map[string]string{
		"we\x1brd\n":                "we_rd_",
		".bashrc":                   "_bashrc",
		"-rf":                       "_rf",
		"a/.b/~c":                   "a/_b/_c",
		"\xff\xfe":                  "__",
		strings.Repeat("\xff", 255): strings.Repeat("_", 255),
		strings.Repeat("é", 127):    strings.Repeat("é", 127),
		"\u202egnp.exe":             "_gnp.exe",
	} {
		a := s.put(t, name, "x")
		if _, got, err := s.Open(a.ID); err != nil || got.Name != want {
			t.Errorf("%q: %q, %v", name, got.Name, err)
		}
	}
}

func TestTypes(t *testing.T) {
	s := newStore(t, 1<<20)
	for name, want := range map[string]string{
		"a.CSV": "text/csv", "b.svg": "image/svg+xml", "c": "image/png", "d.parquet": "application/vnd.apache.parquet",
		"e": "text/plain", "f": "application/octet-stream",
	} {
		content := map[string]string{"c": "\x89PNG\r\n\x1a\n", "e": "plain words", "f": "\x00\x01\x02"}[name]
		if a := s.put(t, name, content); a.Type != want {
			t.Errorf("%s: %s, want %s", name, a.Type, want)
		}
	}
}

// TestBounds: what does not fit is not kept, the oldest goes for what does, and half a file is none.
func TestBounds(t *testing.T) {
	s := newStore(t, 4000)
	a := s.put(t, "old", strings.Repeat("a", 1500))
	before := time.Now().Add(-time.Hour)
	for _, path := range []string{s.Path(a), filepath.Join(s.dir, a.ID+meta)} {
		if err := os.Chtimes(path, before, before); err != nil {
			t.Fatal(err)
		}
	}
	b := s.put(t, "new", strings.Repeat("b", 1500))
	s.put(t, "newest", strings.Repeat("c", 1500))
	if list := s.List(); len(list) != 2 || list[1].ID != b.ID && list[0].ID != b.ID {
		t.Errorf("%+v", list)
	}
	if _, err := s.Get(a.ID); !errors.Is(err, ErrNone) {
		t.Errorf("the oldest: %v", err)
	}
	_, err := s.save(t.Context(), "large", 5000, strings.NewReader(""), "")
	if !errors.As(err, new(*quota.FullError)) {
		t.Errorf("one that is too large: %v", err)
	}
	if _, err = s.save(t.Context(), "short", 100, strings.NewReader("x"), ""); !errors.Is(err, errShorter) {
		t.Errorf("one that has become shorter: %v", err)
	}
	failing := io.MultiReader(strings.NewReader("x"), readerFunc(func([]byte) (int, error) { return 0, os.ErrClosed }))
	if _, err = s.save(t.Context(), "failing", 100, failing, ""); !errors.Is(err, os.ErrClosed) {
		t.Errorf("one that cannot be read: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, temporary+"*")); left != nil || len(s.List()) != 2 {
		t.Errorf("left behind: %v, %+v", left, s.List())
	}
}

// TestRoomAhead: for many small files of one run, what is kept is counted a few times, and they take no more than there
// is, also where what was taken ahead for them has made room for others.
func TestRoomAhead(t *testing.T) {
	s := newStore(t, 1<<20)
	saving := s.Save("run1")
	defer saving.Close()
	size := func() (all int64) {
		entries, _ := os.ReadDir(s.dir)
		for _, e := range entries {
			fi, err := os.Lstat(filepath.Join(s.dir, e.Name()))
			if err == nil && !fi.IsDir() && !strings.HasSuffix(e.Name(), meta) {
				all += fi.Size()
			}
		}
		return all
	}
	taken, before, text := 0, (*os.File)(nil), strings.Repeat("x", 100)
	for i := range 16 {
		if _, err := saving.Put(t.Context(), fmt.Sprint(i), 100, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if saving.ahead != before {
			taken, before = taken+1, saving.ahead
		}
		if size() != saving.left {
			t.Fatalf("of room ahead there are %d bytes, want %d", size(), saving.left)
		}
		if i == 12 {
			if err := os.Remove(saving.ahead.Name()); saving.left == 0 || err != nil {
				t.Fatal(saving.left, err)
			}
			before = nil
		}
	}
	if taken > 5 {
		t.Errorf("room was taken %d times", taken)
	}
	saving.Close()
	if left, _ := filepath.Glob(filepath.Join(s.dir, temporary+"*")); left != nil || len(s.List()) != 16 {
		t.Errorf("left behind: %v, %d are kept", left, len(s.List()))
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestMany(t *testing.T) {
	s := New(t.TempDir(), nil)
	s.max = 20
	first := s.put(t, "first", "")
	before := Artifact{ID: first.ID, Name: "first", SHA256: first.SHA256, Made: first.Made.Add(-time.Hour)}
	if err := os.WriteFile(filepath.Join(s.dir, first.ID+meta), mustJSON(t, before), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range s.max {
		s.put(t, "file", strings.Repeat("x", i+1))
	}
	if _, err := s.Get(first.ID); len(s.List()) != s.max || !errors.Is(err, ErrNone) {
		t.Errorf("%d are kept; of the oldest: %v", len(s.List()), err)
	}
}

func TestRemove(t *testing.T) {
	s := newStore(t, 1<<20)
	a, b := s.put(t, "a", "a"), s.put(t, "b", "b")
	for _, id := range []string{"", "..", "aaaaaaaaaaaa", "../artifacts", strings.ToUpper(a.ID)} {
		if err := s.Remove(b.ID, id); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := s.Remove(a.ID); err != nil || len(s.List()) != 1 {
		t.Errorf("%v, %+v", err, s.List())
	}
	if entries, _ := filepath.Glob(filepath.Join(s.dir, "[a-z2-7]*")); len(entries) != 2 {
		t.Errorf("%v", entries)
	}
}

// TestDamaged: what is not as it was kept is none, and a link in the place of a file is not followed.
func TestDamaged(t *testing.T) {
	s := newStore(t, 1<<20)
	cut, link, bad := s.put(t, "cut", "abc"), s.put(t, "link", "abc"), s.put(t, "bad", "abc")
	err := errors.Join(
		os.Truncate(s.Path(cut), 1),
		os.Remove(s.Path(link)), os.Symlink("/etc/passwd", s.Path(link)),
		os.WriteFile(filepath.Join(s.dir, bad.ID+meta), []byte(`{"id":"`+bad.ID+`","name":"../../x"}`), 0o600),
	)
	if err != nil {
		t.Skip(err) // where links need a privilege
	}
	for _, a := range []Artifact{cut, link, bad} {
		if f, _, err := s.Open(a.ID); err == nil {
			f.Close()
			t.Errorf("%s can be opened", a.Name)
		}
	}
	if err := s.Remove(bad.ID); err != nil {
		t.Error(err)
	}
	if list := s.List(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// TestKilled: what a process that was killed has begun goes with the next that keeps something while nobody else does.
func TestKilled(t *testing.T) {
	s := newStore(t, 1<<20)
	s.put(t, "a", "a")
	begun := filepath.Join(s.dir, temporary+"1")
	if err := os.WriteFile(begun, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	orphan := s.put(t, "orphan", "x") // and what was begun goes
	if _, err := os.Lstat(begun); err == nil {
		t.Error("half a file is kept")
	}
	other := s.Save("another run")
	if _, err := other.Put(t.Context(), "other", 1, strings.NewReader("o")); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(os.WriteFile(begun, []byte("x"), 0o600), os.Remove(filepath.Join(s.dir, orphan.ID+meta)))
	if err != nil {
		t.Fatal(err)
	}
	s.put(t, "b", "b")
	if _, err := os.Lstat(begun); err != nil {
		t.Errorf("what another may be writing: %v", err)
	}
	other.Close()
	s.put(t, "c", "c")
	if _, err := os.Lstat(s.Path(orphan)); err == nil {
		t.Error("content without a description is kept")
	}
	left, _ := filepath.Glob(filepath.Join(s.dir, temporary+"*"))
	if len(left) != 0 || len(s.List()) != 4 {
		t.Errorf("%v, %+v", left, s.List())
	}
}

// TestSideBySide has many writers keep the same and other files, while some are removed.
func TestSideBySide(t *testing.T) {
	s := newStore(t, 1<<20)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for i := range 20 {
				content := strings.Repeat("x", i+1)
				a, err := s.save(context.Background(), "same", int64(i+1), strings.NewReader(content), "")
				if err != nil && !errors.Is(err, errMadeRoom) {
					t.Error(err)
				}
				if i%3 == 0 {
					_ = s.Remove(a.ID)
				}
			}
		})
	}
	work.Wait()
	for _, a := range s.List() {
		f, _, err := s.Open(a.ID)
		if err != nil {
			t.Error(err)
			continue
		}
		f.Close()
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
