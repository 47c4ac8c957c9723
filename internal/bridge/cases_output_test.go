package bridge

import (
	"fmt"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// case 10: however much is printed, the result has its head and tail and says what is missing, the rest is kept up
// to a limit, and the host's memory does not grow with it.
func TestOutputCases(t *testing.T) {
	const keep = 16 << 20
	k := newKit(t, func(o *Options) { o.Config.Output.Keep, o.Config.Run.Grace = keep, 2*time.Second })
	k.text("import os, sys")
	for _, c := range []struct {
		name, code string
		total      int64 // bytes printed; 0 is any number
		status     Status
		head, tail string
	}{
		{"case 10 one print of 100 KiB", "print('a' + 'x' * (100 << 10) + 'z')", 100<<10 + 3, StatusSuccess, "ax", "xz\n"},
		{"case 10 one print of 100 MiB", "print('a' + 'x' * (100 << 20) + 'z')", 100<<20 + 3, StatusSuccess, "ax", "xz\n"},
		{"case 10 bytes past Python", "for _ in range(64): os.write(1, b'y' * (1 << 20))", 64 << 20, StatusSuccess, "y", "y"},
		{"case 10 100,000 prints", "for i in range(100_000): print(i)", 588_890, StatusSuccess, "0\n1\n2\n", "99998\n99999\n"},
		{"case 10 endless", "i = 0\nwhile True:\n    print('line', i := i + 1)", 0, StatusTimeout, "line 1\nline 2\n", ""},
		{"case 10 endless without newlines", "while True: sys.stdout.write('0123456789')", 0, StatusTimeout, "0123456789", "9"},
		{"case 10 endless in a child", "os.system('yes')", 0, StatusTimeout, "y\ny\n", "y\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			timeout := 30 * time.Second
			if c.status == StatusTimeout {
				timeout = time.Second
			}
			if testing.Short() && c.total > 10<<20 {
				t.Skip("the race detector sees every byte of it")
			}
			peak := watchHeap(t)
			out := k.run(Request{Code: c.code, Timeout: timeout})
			if p := peak(); p > 96<<20 {
				t.Errorf("the heap grew to %d MiB", p>>20)
			}
			if out.Status != c.status {
				t.Errorf("status %s: %.300s", out.Status, out.Error)
			}
			o := out.Stdout
			if c.total != 0 && o.Total != c.total || !o.Cut() || o.Lost != max(0, o.Total-keep) {
				t.Errorf("total %d, lost %d, cut %v; want total %d", o.Total, o.Lost, o.Cut(), c.total)
			}
			if !strings.HasPrefix(string(o.Head), c.head) || !strings.HasSuffix(string(o.Tail), c.tail) {
				t.Errorf("head %.40q, tail %q", o.Head, o.Tail[max(0, len(o.Tail)-40):])
			}
			reply := out.compact()
			if len(reply) > 33<<10 {
				t.Errorf("the reply has %d bytes", len(reply))
			}
			contains(
				t, reply, fmt.Sprintf("[… %d bytes, ", o.Omitted()), " lines of stdout left out …]\n",
				"\nnote: stdout is cut; the whole is the resource codemode://output/default/",
			)
		})
	}
}

// watchHeap returns a function that says how large the heap has been at most since.
func watchHeap(t *testing.T) (peak func() int) {
	stop, done := make(chan struct{}), make(chan struct{})
	var most uint64
	go func() {
		defer close(done)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return func() int {
		close(stop)
		<-done
		return int(most)
	}
}
