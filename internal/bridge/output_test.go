package bridge

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestRecorderKeepsSmallOutputWhole(t *testing.T) {
	r := newRecorder(100, 1000, t.TempDir())
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
		dir := t.TempDir()
		r := newRecorder(1024, 1<<20, dir)
		for p := whole.Bytes(); len(p) > 0; p = p[min(size, len(p)):] {
			r.write(p[:min(size, len(p))])
		}
		text := r.finish()
		if !text.Cut() || text.Total != int64(whole.Len()) || text.Lost != 0 {
			t.Fatalf("size %d: cut %v, total %d, lost %d", size, text.Cut(), text.Total, text.Lost)
		}
		if !bytes.HasPrefix(whole.Bytes(), text.Head) || !bytes.HasSuffix(whole.Bytes(), text.Tail) {
			t.Fatalf("size %d: head %q… or tail …%q are not its ends", size, text.Head[:20], text.Tail[len(text.Tail)-20:])
		}
		if len(text.Head) < 400 || len(text.Tail) < 400 || len(text.Head)+len(text.Tail) > 1024 {
			t.Errorf("size %d: head %d, tail %d bytes", size, len(text.Head), len(text.Tail))
		}
		between := whole.Bytes()[len(text.Head) : whole.Len()-len(text.Tail)]
		if want := int64(bytes.Count(between, []byte{'\n'})); text.Lines != want || text.Omitted() != int64(len(between)) {
			t.Errorf("size %d: %d lines, %d bytes left out, want %d, %d", size, text.Lines, text.Omitted(), want, len(between))
		}
		all, err := text.spill.page(0, 1<<20)
		if err != nil || !bytes.Equal(all, whole.Bytes()) {
			t.Errorf("size %d: the file has %d bytes, error %v", size, len(all), err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("the file has a name: %v", left)
		}
		text.spill.close()
	}
}

func TestRecorderStopsKeepingAtItsLimit(t *testing.T) {
	r := newRecorder(10, 100, t.TempDir())
	r.write(bytes.Repeat([]byte("x"), 250))
	text := r.finish()
	defer text.spill.close()
	if text.Lost != 150 || text.Total != 250 || text.spill.size != 100 {
		t.Errorf("lost %d of %d, kept %d", text.Lost, text.Total, text.spill.size)
	}
}

func TestRecorderWithoutADisk(t *testing.T) {
	r := newRecorder(10, 100, "/dev/null/nowhere")
	r.write(bytes.Repeat([]byte("x"), 250))
	if text := r.finish(); text.Lost != 250 || text.spill != nil || len(text.Head) == 0 || len(text.Tail) == 0 {
		t.Errorf("%+v", text)
	}
}

func TestPagesJoinToTheWhole(t *testing.T) {
	whole := []byte(strings.Repeat("aé日😀\n", 1000))
	s, err := newSpill(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if _, err := s.file.WriteAt(whole, 0); err != nil {
		t.Fatal(err)
	}
	s.size = int64(len(whole))
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

// TestSpillsOfTheKilled has an output be kept beside what a codemode left that was killed before it had unlinked its file.
func TestSpillsOfTheKilled(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "output-1")
	then := time.Now().Add(-nameless - time.Second)
	if err := errors.Join(os.WriteFile(old, nil, 0o600), os.Chtimes(old, then, then)); err != nil {
		t.Fatal(err)
	}
	s, err := newSpill(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if _, err := os.Lstat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
