package bridge

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"codemode/internal/quota"
)

func TestRecorderKeepsSmallOutputWhole(t *testing.T) {
	r := newRecorder(100, 1000, testOutputs(t))
	for range 10 {
		r.write([]byte("ten bytes\n"))
	}
	text := r.finish()
	if text.Cut() || text.spill != nil || string(text.Head) != strings.Repeat("ten bytes\n", 10) {
		t.Errorf("cut %v, head %q", text.Cut(), text.Head)
	}
}

// Whatever the sizes of the writes, head and tail are the ends of the whole, and the file has all of it.
func TestRecorderCutsLargeOutput(t *testing.T) {
	var whole bytes.Buffer
	for i := range 5000 {
		fmt.Fprintf(&whole, "line %d\n", i)
	}
	for _, size := range []int{1, 7, 100, 511, 512, 513, 10_000, whole.Len()} {
		r := newRecorder(1024, 1<<20, testOutputs(t))
		for p := whole.Bytes(); len(p) > 0; p = p[min(size, len(p)):] {
			r.write(p[:min(size, len(p))])
		}
		text := r.finish()
		if !text.Cut() || text.Total != int64(whole.Len()) || text.Lost != 0 {
			t.Fatalf("size %d: cut %v, total %d, lost %d", size, text.Cut(), text.Total, text.Lost)
		}
		if !bytes.HasPrefix(whole.Bytes(), text.Head) || !bytes.HasSuffix(whole.Bytes(), text.Tail) {
			t.Fatalf(
				"size %d: head %q… or tail …%q are not its ends", size, text.Head[:20], text.Tail[len(text.Tail)-20:],
			)
		}
		if len(text.Head) < 400 || len(text.Tail) < 400 || len(text.Head)+len(text.Tail) > 1024 {
			t.Errorf("size %d: head %d, tail %d bytes", size, len(text.Head), len(text.Tail))
		}
		between := whole.Bytes()[len(text.Head) : whole.Len()-len(text.Tail)]
		if want := int64(bytes.Count(between, []byte{'\n'})); text.Lines != want ||
			text.Omitted() != int64(len(between)) {
			t.Errorf(
				"size %d: %d lines, %d bytes left out, want %d, %d", size, text.Lines, text.Omitted(), want,
				len(between),
			)
		}
		all, err := text.spill.page(0, 1<<20)
		if err != nil || !bytes.Equal(all, whole.Bytes()) {
			t.Errorf("size %d: the file has %d bytes, error %v", size, len(all), err)
		}
		text.spill.close()
		if _, err := os.Lstat(text.spill.path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file is left: %v", err)
		}
	}
}

func TestRecorderStopsKeepingAtItsLimit(t *testing.T) {
	r := newRecorder(10, 100, testOutputs(t))
	r.write(bytes.Repeat([]byte("x"), 250))
	text := r.finish()
	defer text.spill.close()
	if text.Lost != 150 || text.Total != 250 || text.spill.size != 100 {
		t.Errorf("lost %d of %d, kept %d", text.Lost, text.Total, text.spill.size)
	}
}

func TestRecorderWithoutADisk(t *testing.T) {
	r := newRecorder(10, 100, &outputs{base: "/dev/null/nowhere"})
	r.write(bytes.Repeat([]byte("x"), 250))
	if text := r.finish(); text.Lost != 250 || text.spill != nil || len(text.Head) == 0 || len(text.Tail) == 0 {
		t.Errorf("%+v", text)
	}
}

func TestPagesJoinToTheWhole(t *testing.T) {
	whole := []byte(strings.Repeat("aé日😀\n", 1000))
	s, err := testOutputs(t).create()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.write(whole); err != nil {
		t.Fatal(err)
	}
	s.finish()
	for _, size := range []int{4, 5, 64, 1000} {
		var got []byte
		for int64(len(got)) < s.size {
			p, err := s.page(int64(len(got)), size)
			if err != nil || len(p) == 0 {
				t.Fatalf("page of %d at %d: %d bytes, %v", size, len(got), len(p), err)
			}
			if !utf8.Valid(p) {
				t.Fatalf("page of %d at %d ends within a character", size, len(got))
			}
			got = append(got, p...)
		}
		if !bytes.Equal(got, whole) {
			t.Errorf("pages of %d do not join to the whole", size)
		}
	}
}

// testOutputs are those of a process, in a folder of its own.
func testOutputs(t *testing.T) *outputs {
	t.Helper()
	return outputsIn(t, t.TempDir(), 1<<30)
}

func outputsIn(t *testing.T, dir string, max int64) *outputs {
	t.Helper()
	base := filepath.Join(dir, "outputs")
	disk := quota.New(
		filepath.Join(dir, "lock"), max, slog.New(slog.DiscardHandler), quota.Folder{Path: base, Open: true},
	)
	o := &outputs{base: base, budget: disk}
	t.Cleanup(func() {
		if err := o.close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// TestOutputsOfTheKilled has a process keep an output beside one that is alive, and one that was killed.
func TestOutputsOfTheKilled(t *testing.T) {
	dir := t.TempDir()
	write := func(o *outputs) *spill {
		s, err := o.create()
		if err == nil {
			_, err = s.write([]byte("text"))
		}
		if err != nil {
			t.Fatal(err)
		}
		s.finish()
		return s
	}
	alive, killed := outputsIn(t, dir, 1<<20), outputsIn(t, dir, 1<<20)
	a, k := write(alive), write(killed)
	if err := killed.lock.Close(); err != nil { // as the system does
		t.Fatal(err)
	}
	write(outputsIn(t, dir, 1<<20))
	if text, err := a.page(0, 100); string(text) != "text" {
		t.Errorf("of who is alive: %q, %v", text, err)
	}
	if _, err := k.page(0, 100); !errors.Is(err, errMadeRoom) {
		t.Errorf("of who was killed: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "outputs", "*")); len(left) != 2 {
		t.Errorf("folders: %v", left)
	}
}

// TestOutputsShareABudget has two processes write more than they may keep together: the oldest output goes, also while
// it is written, and never are there more bytes on the disk.
func TestOutputsShareABudget(t *testing.T) {
	const most = 1 << 20
	dir := t.TempDir()
	used := func() (n int64) {
		files, _ := filepath.Glob(filepath.Join(dir, "outputs", "*", "output-*"))
		for _, name := range files {
			if info, err := os.Lstat(name); err == nil {
				n += info.Size()
			}
		}
		return n
	}
	fill := func(o *outputs, n int) Text {
		r := newRecorder(1024, 1<<30, o)
		for range n {
			r.write(bytes.Repeat([]byte("x"), 1024))
			if got := used(); got > most {
				t.Fatalf("%d bytes are kept", got)
			}
		}
		return r.finish()
	}
	one, other := outputsIn(t, dir, most), outputsIn(t, dir, most)
	first := fill(one, 600)
	open := newRecorder(1024, 1<<30, one)
	open.write(bytes.Repeat([]byte("y"), 100<<10))
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(open.text.spill.path, then, then); err != nil {
		t.Fatal(err)
	}
	last := fill(other, 900)
	if first.Lost+last.Lost > 0 {
		t.Errorf("lost %d and %d bytes", first.Lost, last.Lost)
	}
	if _, err := first.spill.page(0, 100); !errors.Is(err, errMadeRoom) {
		t.Errorf("the first: %v", err)
	}
	if text, err := last.spill.page(900<<10-100, 200); len(text) != 100 || err != nil {
		t.Errorf("the last: %d bytes, %v", len(text), err)
	}
	open.write(bytes.Repeat([]byte("y"), 500<<10))
	if text := open.finish(); text.Lost == 0 {
		t.Errorf("what was removed while it was written: %d bytes lost", text.Lost)
	}
	if whole := fill(other, 2000); whole.Lost != 2000<<10-most {
		t.Errorf("of what alone is too large %d bytes are lost", whole.Lost)
	}
}
