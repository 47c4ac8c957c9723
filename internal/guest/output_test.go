package guest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
)

// TestReadOutput holds what is read of output against encoding/json.
func TestReadOutput(t *testing.T) {
	for _, params := range []string{
		`{"run":3,"stream":"stdout","text":"a\u00e9\u001b\n\"é\ud83d\ude00"}`,
		`{"run":1,"stream":"stderr","base64":"//4="}`,
		`{"stream":"std\u006fut","run":-1,"text":"half \ud800 a pair"}`,
		`{"text":"a","text":"b","more":[{"text":"c"}]}`, `{}`,
		`{"run":1.5}`, `{"run":"1"}`, `{"run":1e9}`, `{"stream":1}`, `{"text":["a"]}`, `{"base64":"?"}`, `{"base64":7}`,
	} {
		var want struct {
			Run          int
			Stream, Text string
			Base64       []byte
		}
		wantErr := json.Unmarshal([]byte(params), &want)
		var got Output
		err := ReadOutput(json.RawMessage(params), func(o Output) {
			got = Output{o.Run, o.Stream, bytes.Clone(o.Data)}
		})
		data := append(want.Base64, want.Text...)
		if (err != nil) != (wantErr != nil) {
			t.Errorf("%s: the error is %v, of encoding/json %v", params, err, wantErr)
		}
		if err == nil && (got.Run != want.Run || got.Stream != want.Stream || !bytes.Equal(got.Data, data)) {
			t.Errorf("%s is read as %d %q %q", params, got.Run, got.Stream, got.Data)
		}
	}
}

// TestRequestsAreKept: what a request brought stays as it is while more is read, however long it is.
func TestRequestsAreKept(t *testing.T) {
	line := func(id, text string, size int) string {
		return `{"jsonrpc":"2.0",` + id + `,"params":{"x":"` + strings.Repeat(text, size) + "\"}}\n"
	}
	for _, size := range []int{10, bufferSize / 2, 2 * bufferSize} {
		c := reading(strings.NewReader(
			line(`"method":"n"`, "n", size) + line(`"id":1,"method":"r"`, "r", size) +
				line(`"method":"n"`, "n", size) + line(`"method":"n"`, "n", size)))
		var kept Message
		for range 4 {
			m, err := c.Read()
			if err != nil {
				t.Fatal(err)
			}
			if m.HasID {
				kept = m
			}
		}
		if want := `{"x":"` + strings.Repeat("r", size) + `"}`; string(kept.Params) != want {
			t.Errorf("of a request of %d bytes %.40q is left", size, kept.Params)
		}
	}
}

// TestOutputLeavesNoGarbage: what a guest prints without end is read into the same memory, for garbage is collected at
// the expense of all sessions.
func TestOutputLeavesNoGarbage(t *testing.T) {
	if raced {
		t.Skip("pools forget")
	}
	for what, text := range map[string]string{
		"text":       `"text":"` + strings.Repeat("x", 60_000),
		"characters": `"text":"` + strings.Repeat(`\u001b\u0007`, 30_000),
		"bytes":      `"base64":"` + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, 60_000)),
	} {
		line := []byte(`{"jsonrpc":"2.0","method":"output","params":{"run":1,"stream":"stdout",` + text + "\"}}\n")
		r := bytes.NewReader(nil)
		c := NewConn(stream{r, io.Discard}, 64<<20)
		read := func() {
			r.Reset(line)
			m, err := c.Read()
			if err == nil {
				err = ReadOutput(m.Params, func(Output) {})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		read()
		least := uint64(math.MaxUint64) // pools forget when garbage is collected, or another processor goes on
		for range 5 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			const count = 100
			for range count {
				read()
			}
			runtime.ReadMemStats(&after)
			least = min(least, (after.TotalAlloc-before.TotalAlloc)/count)
		}
		if least > 20_000 {
			t.Errorf("%s of 60,000 bytes leave %d bytes of garbage", what, least)
		}
	}
}
