package proc

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"codemode/internal/proc/proctest"
)

// TestWriteNow holds that it writes all or nothing, and waits for nobody.
func TestWriteNow(t *testing.T) {
	p := start(t, shell(proctest.Mark(t), `read -r line; echo "$line"; exec cat`))
	if p.WriteNow([]byte(strings.Repeat("x", pipeBuf+1))) {
		t.Error("more than a pipe takes as a whole was written")
	}
	if !p.WriteNow([]byte("hello\n")) || ready(t, p) != "hello" {
		t.Error("a short line was not written")
	}
}

func TestWriteNowFull(t *testing.T) {
	p := start(t, shell(proctest.Mark(t), `read -r line; echo started; read -r line; exec cat`))
	piece, n := append(bytes.Repeat([]byte("x"), 3000), '\n'), 0
	for p.WriteNow(piece) { // until nobody has read for as long as the pipe has room
		n++
	}
	if n == 0 {
		t.Fatal("nothing was written")
	}
	p.Stdin().Close()
	out, err := io.ReadAll(p.Stdout())
	rest, started := bytes.CutPrefix(out, []byte("started\n"))
	if err != nil || !started || len(rest) > n*len(piece) || len(rest)%len(piece) != 0 {
		t.Errorf("of %d lines of %d bytes, %d bytes came out: %v", n, len(piece), len(rest), err)
	}
}

func TestWriteNowToNobody(t *testing.T) {
	p := start(t, shell(proctest.Mark(t), `exit 0`))
	<-p.Done()
	if p.WriteNow([]byte("hello\n")) {
		t.Error("a process that has ended was written to")
	}
	_ = p.Stop(0)
	if p.WriteNow([]byte("hello\n")) {
		t.Error("a process that was stopped was written to")
	}
}
