package bridge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"
)

// Text is one stream's output: all of it when it is small, else its head and its tail.
type Text struct {
	Head, Tail []byte // Tail is nil when nothing was left out
	Total      int64  // bytes written by the program
	Lines      int64  // lines left out between Head and Tail
	Lost       int64  // bytes at the end that were not even kept
	spill      *spill // the whole, as far as it was kept; nil when Head has it all
}

// Cut reports whether Head and Tail are not all of it.
func (t Text) Cut() bool { return t.Tail != nil }

// Omitted is the number of bytes between Head and Tail.
func (t Text) Omitted() int64 { return t.Total - int64(len(t.Head)) - int64(len(t.Tail)) }

// recorder collects one stream in bounded memory: up to limit bytes whole, beyond that head and tail, and
// everything up to keep bytes in an unlinked file.
type recorder struct {
	limit int
	keep  int64
	dir   string
	text  Text
	over  bool   // there is more than limit
	buf   []byte // the whole, or once over the growing tail
}

func newRecorder(limit, keep int64, dir string) *recorder {
	return &recorder{limit: int(limit), keep: keep, dir: dir}
}

func (r *recorder) write(p []byte) {
	r.text.Total += int64(len(p))
	if !r.over && len(r.buf)+len(p) <= r.limit {
		r.buf = append(r.buf, p...)
		return
	}
	if !r.over {
		r.over = true
		r.text.spill, _ = newSpill(r.dir) // nil: the rest is counted as lost, and the result says so
		whole := r.buf
		r.text.Head, r.buf = make([]byte, 0, r.limit/2), nil
		r.take(whole)
	}
	r.take(p)
}

// take adds p to the file, to the head while there is room, and to the tail.
func (r *recorder) take(p []byte) {
	r.store(p)
	n := min(len(p), cap(r.text.Head)-len(r.text.Head))
	r.text.Head = append(r.text.Head, p[:n]...)
	p = p[n:]
	half := r.limit - r.limit/2
	if len(p) >= half {
		r.buf = append(r.buf[:0], p[len(p)-half:]...)
		return
	}
	r.buf = append(r.buf, p...)
	if len(r.buf) > 4*half { // amortised: most writes only append
		n := copy(r.buf, r.buf[len(r.buf)-half:])
		r.buf = r.buf[:n]
	}
}

func (r *recorder) store(p []byte) {
	s := r.text.spill
	if s == nil {
		r.text.Lost += int64(len(p))
		return
	}
	room := max(r.keep-s.size, 0)
	kept := p[:min(int64(len(p)), room)]
	n, err := s.file.WriteAt(kept, s.size)
	s.size += int64(n)
	r.text.Lost += int64(len(p) - n)
	if err != nil {
		r.keep = s.size // a full disk: what is there stays readable, nothing more is tried
	}
}

// finish returns the text. Head and tail are cut at line ends where there are any, else between characters.
func (r *recorder) finish() Text {
	t := r.text
	if !r.over {
		t.Head = r.buf
		return t
	}
	tail := r.buf[max(0, len(r.buf)-(r.limit-r.limit/2)):]
	t.Head = cutEnd(t.Head)
	t.Tail = cutStart(tail)
	if t.spill != nil {
		t.Lines = t.spill.lines(int64(len(t.Head)), t.Total-int64(len(t.Tail)))
	}
	return t
}

// nearEdge is how far from the cut a line end may be to be preferred.
const nearEdge = 1024

func cutEnd(p []byte) []byte {
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 && len(p)-i <= nearEdge {
		return p[:i+1]
	}
	for i := 0; i < utf8.UTFMax && i < len(p); i++ {
		if r, n := utf8.DecodeLastRune(p[:len(p)-i]); r != utf8.RuneError || n > 1 {
			return p[:len(p)-i]
		}
	}
	return p
}

func cutStart(p []byte) []byte {
	if i := bytes.IndexByte(p, '\n'); i >= 0 && i < nearEdge && i+1 < len(p) {
		return p[i+1:]
	}
	for i := 0; i < utf8.UTFMax && i < len(p); i++ {
		if utf8.RuneStart(p[i]) {
			return p[i:]
		}
	}
	return p
}

// A spill is an unlinked temporary file: the system frees it when codemode ends, however it ends.
type spill struct {
	file   *os.File
	size   int64
	run    int
	stream string
}

func newSpill(dir string) (*spill, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making output folder: %w", err)
		}
		sweepSpills(dir)
	}
	f, err := os.CreateTemp(dir, "output-*")
	if err != nil {
		return nil, fmt.Errorf("keeping a large output: %w", err)
	}
	_ = os.Remove(f.Name()) // Windows keeps an open file; there close removes it
	return &spill{file: f}, nil
}

// nameless is how old a file with a name must be for its maker to have been killed: a name lasts no longer than a system call.
const nameless = time.Minute

// sweepSpills removes files that were not unlinked. On systems that keep an open file's name, removing it fails.
func sweepSpills(dir string) {
	names, _ := filepath.Glob(filepath.Join(dir, "output-*"))
	for _, name := range names {
		if fi, err := os.Lstat(name); err == nil && time.Since(fi.ModTime()) > nameless {
			_ = os.Remove(name)
		}
	}
}

func (s *spill) close() {
	if s == nil {
		return
	}
	_ = s.file.Close()
	_ = os.Remove(s.file.Name())
}

// lines counts line ends in [from, to).
func (s *spill) lines(from, to int64) int64 {
	var n int64
	buf := make([]byte, 64<<10)
	for from < min(to, s.size) {
		k, err := s.file.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
		n += int64(bytes.Count(buf[:k], []byte{'\n'}))
		from += int64(k)
		if err != nil {
			break
		}
	}
	return n
}

// page reads up to size bytes from offset on, cut between characters.
func (s *spill) page(offset int64, size int) ([]byte, error) {
	if offset > s.size {
		return nil, nil
	}
	buf := make([]byte, min(int64(size), s.size-offset))
	n, err := s.file.ReadAt(buf, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if offset+int64(n) < s.size {
		return cutRune(buf[:n]), nil
	}
	return buf[:n], nil
}

// cutRune drops an incomplete character at the end of p.
func cutRune(p []byte) []byte {
	for i := 1; i < utf8.UTFMax && i < len(p); i++ {
		if utf8.RuneStart(p[len(p)-i]) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}
