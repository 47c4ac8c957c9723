package bridge

import "codemode/internal/visible"

// Text is what was captured of one stream, stdout or stderr: all of it, or else its head and its tail. The text of a
// result is made of it by Outcome.Reply.
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
// everything up to keep bytes in a file.
type recorder struct {
	limit int
	keep  int64
	files *outputs
	text  Text
	over  bool   // there is more than limit
	buf   []byte // the whole, or once over the growing tail
}

func newRecorder(limit, keep int64, files *outputs) *recorder {
	return &recorder{limit: int(limit), keep: keep, files: files}
}

func (r *recorder) write(p []byte) {
	r.text.Total += int64(len(p))
	if !r.over && len(r.buf)+len(p) <= r.limit {
		r.buf = append(r.buf, p...)
		return
	}
	if !r.over {
		r.over = true
		r.text.spill, _ = r.files.create() // nil: the rest is counted as lost, and the result says so
		whole := r.buf
		r.text.Head, r.buf = make([]byte, 0, r.limit/2), nil
		r.writeOver(whole)
	}
	r.writeOver(p)
}

// writeOver writes what is beyond the limit: to the file, to the head while there is room, and to the tail.
func (r *recorder) writeOver(p []byte) {
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
	n, err := s.write(kept)
	r.text.Lost += int64(len(p) - n)
	if err != nil {
		r.keep = s.size // no room: what is there stays readable, nothing more is tried
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
	t.Head = visible.CutEnd(t.Head)
	t.Tail = visible.CutStart(tail)
	if t.spill != nil {
		t.Lines = t.spill.lines(int64(len(t.Head)), t.Total-int64(len(t.Tail)))
		t.spill.finish()
	}
	return t
}
