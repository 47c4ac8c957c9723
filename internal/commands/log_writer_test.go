package commands

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLogWriter: a log that nobody reads holds up neither who writes it nor the end, and says later what is missing.
func TestLogWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, to := io.Pipe()
		w := newLogWriter(to)
		for range keptLines + 10 {
			if n, err := w.Write([]byte("line\n")); n != 5 || err != nil {
				t.Fatal(n, err)
			}
			synctest.Wait()
		}
		var read bytes.Buffer
		one := make([]byte, 5)
		for range 2 {
			if _, err := io.ReadFull(r, one); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		_, _ = w.Write([]byte("last\n"))
		began := time.Now()
		w.Close()
		if took := time.Since(began); took != unreadGrace {
			t.Errorf("the end has waited %v", took)
		}
		go func() { <-w.done; to.Close() }()
		_, _ = io.Copy(&read, r)
		if text := read.String(); strings.Count(text, "line\n") != keptLines-1 ||
			!strings.HasSuffix(text, "codemode: 9 lines of the log were left out, for nobody read them\nlast\n") {
			t.Errorf("%d bytes, at the end %q", len(text), text[max(0, len(text)-100):])
		}
	})
}
