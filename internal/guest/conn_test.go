package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// stream is both directions of a channel for tests that need one of them.
type stream struct {
	io.Reader
	io.Writer
}

const testMax = 1 << 20

// maxDepth is how deep a message may be nested (jsontext).
const maxDepth = 10000

func reading(r io.Reader) *Conn { return NewConn(stream{r, io.Discard}, testMax) }

func TestReadMessages(t *testing.T) {
	tests := []struct {
		line string
		want Message
	}{
		{`{"jsonrpc":"2.0","method":"output","params":{"run":1}}`, Message{Method: "output", Params: raw(`{"run":1}`)}},
		{
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}`,
			Message{ID: 7, HasID: true, Method: "tools/call", Params: raw(`{}`)},
		},
		{`{"jsonrpc":"2.0","id":-7,"result":null}`, Message{ID: -7, HasID: true, Result: raw(`null`)}},
		{
			"\t{ \"id\" : 1 , \"result\" : [ 1 , {\"a\" : \"b\"} ] , \"jsonrpc\" : \"2.0\" }\r",
			Message{ID: 1, HasID: true, Result: raw(`[ 1 , {"a" : "b"} ]`)},
		},
		{
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":[1]}}`,
			Message{ID: 1, HasID: true, Error: &Error{-32601, "no", raw(`[1]`)}},
		},
		{`{"jsonrpc":"2.0","method":"a\u0062","unknown":1,"unknown":2}`, Message{Method: "ab"}},
		{
			`{"jsonrpc":"2.0","id":1,"result":"\ud800 \\ \" \u0000é"}`,
			Message{ID: 1, HasID: true, Result: raw(`"\ud800 \\ \" \u0000é"`)},
		},
		{`{"jsonrpc":"2.0","id":1,"result":-0.5e+10}`, Message{ID: 1, HasID: true, Result: raw(`-0.5e+10`)}},
	}
	for _, tt := range tests {
		for _, r := range []io.Reader{
			strings.NewReader(tt.line + "\n"), iotest.OneByteReader(strings.NewReader(tt.line + "\n")),
		} {
			got, err := reading(r).Read()
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s\n got %+v, %v\nwant %+v", tt.line, got, err, tt.want)
			}
		}
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestReadHostileLines(t *testing.T) {
	deep := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	tests := []struct{ name, line, want string }{
		{"empty", ``, "not a JSON object"},
		{"text", `hello`, "not a JSON object"},
		{"escape sequence", "\x1b[2J", `not a JSON object: "\x1b[2J"`},
		{"array", `[]`, "not a JSON object"},
		{"NUL", "\x00", "not a JSON object"},
		{"empty object", `{}`, `"jsonrpc" is not "2.0"`},
		{"wrong version", `{"jsonrpc":"1.0","method":"x"}`, `"jsonrpc" is not "2.0"`},
		{"nothing said", `{"jsonrpc":"2.0"}`, `neither "method" nor "id"`},
		{"half", `{"jsonrpc":"2.0","method":"x`, "unexpected EOF"},
		{"two", `{"jsonrpc":"2.0","method":"x"}{}`, "more behind the message"},
		{"trailing comma", `{"jsonrpc":"2.0",}`, "invalid character"},
		{"no colon", `{"jsonrpc" "2.0"}`, "after object name"},
		{"no comma", `{"jsonrpc":"2.0" "id":1}`, "after object value"},
		{"single quotes", `{'jsonrpc':"2.0"}`, "at start of value"},
		{"bare word", `{"jsonrpc":"2.0","id":NaN}`, "at start of value"},
		{"leading zero", `{"jsonrpc":"2.0","id":01,"result":1}`, "after object value"},
		{"half number", `{"jsonrpc":"2.0","id":1.,"result":1}`, "in number"},
		{"half exponent", `{"jsonrpc":"2.0","id":1e,"result":1}`, "in number"},
		{"fraction as id", `{"jsonrpc":"2.0","id":1.5,"result":1}`, `"id" is not an integer`},
		{"huge id", `{"jsonrpc":"2.0","id":99999999999999999999,"result":1}`, `"id" is not an integer`},
		{"string id", `{"jsonrpc":"2.0","id":"1","result":1}`, `"id" is not an integer`},
		{"null id", `{"jsonrpc":"2.0","id":null,"result":1}`, `"id" is not an integer`},
		{"id twice", `{"jsonrpc":"2.0","id":1,"id":2,"result":1}`, `"id" twice`},
		{"id twice, disguised", `{"jsonrpc":"2.0","id":1,"\u0069d":2,"result":1}`, `"id" twice`},
		{"params list", `{"jsonrpc":"2.0","method":"x","params":[1]}`, `"params" is not an object`},
		{"params null", `{"jsonrpc":"2.0","method":"x","params":null}`, `"params" is not an object`},
		{"method number", `{"jsonrpc":"2.0","method":1}`, `"method" is not a name`},
		{"method empty", `{"jsonrpc":"2.0","method":""}`, `"method" is not a name`},
		{"method and result", `{"jsonrpc":"2.0","id":1,"method":"x","result":1}`, "both a request and an answer"},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`, `either "result" or "error"`},
		{"no result", `{"jsonrpc":"2.0","id":1}`, `either "result" or "error"`},
		{"error string", `{"jsonrpc":"2.0","id":1,"error":"x"}`, "not an error object"},
		{"error types", `{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}`, "not an error object"},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}", "not UTF-8"},
		{"control character", "{\"jsonrpc\":\"2.0\",\"method\":\"a\tb\"}", "in string"},
		{"bad escape", `{"jsonrpc":"2.0","method":"\x"}`, "invalid escape sequence"},
		{"bad unicode escape", `{"jsonrpc":"2.0","method":"\u12g4"}`, "invalid escape sequence"},
		{"too deep", `{"jsonrpc":"2.0","id":1,"result":` + deep + `}`, "exceeded max depth"},
		{"open brackets", `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", maxDepth-1), "unexpected EOF"},
		{"mixed brackets", `{"jsonrpc":"2.0","id":1,"result":[{"a":1]}}`, "after object value"},
		{"too long", strings.Repeat("x", testMax+1), "a line of more than 1048576 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := reading(strings.NewReader(tt.line + "\n" + `{"jsonrpc":"2.0","method":"fine"}` + "\n"))
			_, err := c.Read()
			if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want ErrProtocol with %q", err, tt.want)
			}
			if len(err.Error()) > 300 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if _, again := c.Read(); again != err {
				t.Errorf("the error was not final: %v", again)
			}
		})
	}
}

func TestReadAtLimits(t *testing.T) {
	deepest := strings.Repeat("[", maxDepth-2) + strings.Repeat("]", maxDepth-2)
	head, end := `{"jsonrpc":"2.0","id":1,"result":`, "}\n"
	longest := `"` + strings.Repeat("x", testMax-len(head)-len(end)+1-2) + `"`
	for _, result := range []string{deepest, longest} {
		m, err := reading(strings.NewReader(head + result + end)).Read()
		if err != nil || string(m.Result) != result {
			t.Errorf("%.20s…: %d bytes of %d, %v", result, len(m.Result), len(result), err)
		}
	}
}

func TestReadEnds(t *testing.T) {
	if _, err := reading(strings.NewReader("")).Read(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	_, err := reading(strings.NewReader(`{"jsonrpc":"2.0"`)).Read()
	if !errors.Is(err, io.EOF) || err == io.EOF || errors.Is(err, ErrProtocol) {
		t.Errorf("within a message: %v", err)
	}
	if _, err := reading(iotest.ErrReader(io.ErrClosedPipe)).Read(); err != io.ErrClosedPipe {
		t.Errorf("the stream's own error: %v", err)
	}
}

// A line without an end must cost what has arrived, not what may arrive.
func TestReadHoldsWhatArrived(t *testing.T) {
	c := NewConn(stream{io.LimitReader(endless{}, 10<<20), io.Discard}, 1<<30)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := c.readLine(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	grown := after.TotalAlloc - before.TotalAlloc
	if grown > 48<<20 { // 16 + 8 + 4 + … and the last doubling
		t.Errorf("%d bytes allocated for a line of 10 MiB", grown)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestWrite(t *testing.T) {
	tests := []struct {
		name  string
		write func(*Conn) error
		want  string
	}{
		{
			"request",
			func(c *Conn) error { return c.Request(3, MethodInterrupt, Interrupt{1, "<&>"})() },
			`{"jsonrpc":"2.0","id":3,"method":"interrupt","params":{"run":1,"reason":"<&>"}}`,
		},
		{
			"notification",
			func(c *Conn) error { return c.Notify(MethodInterrupt, Interrupt{1, "x"})() },
			`{"jsonrpc":"2.0","method":"interrupt","params":{"run":1,"reason":"x"}}`,
		},
		{
			"raw", func(c *Conn) error { return c.Respond(4, raw("{\"a\" :\t1}")) },
			"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"a\" :\t1}}",
		},
		{
			"raw with newlines",
			func(c *Conn) error { return c.Respond(4, raw("{\n \"a\": \"\\n\"\n}\n")) },
			`{"jsonrpc":"2.0","id":4,"result":{"a":"\n"}}`,
		},
		{"nothing", func(c *Conn) error { return c.Respond(4, nil) }, `{"jsonrpc":"2.0","id":4,"result":null}`},
		{
			"not JSON",
			func(c *Conn) error { return c.Respond(4, raw("{\n")) },
			`{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"the result is not JSON","data":{}}}`,
		},
		{
			"too long",
			func(c *Conn) error { return c.Respond(4, raw(`"`+strings.Repeat("x", testMax)+`"`)) },
			`{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"the result has 1048578 bytes; ` +
				`at most 1048576 fit into a message","data":{}}}`,
		},
		{"error", func(c *Conn) error {
			return c.RespondError(5, CodeDenied, "no\n", ErrorData{Server: "s", Data: raw(`[1]`)})
		}, `{"jsonrpc":"2.0","id":5,"error":{"code":-32004,"message":"no\n","data":{"server":"s","data":[1]}}}`},
	}
	for _, tt := range tests {
		var b bytes.Buffer
		if err := tt.write(NewConn(stream{strings.NewReader(""), &b}, testMax)); err != nil ||
			b.String() != tt.want+"\n" {
			t.Errorf("%s: %v\n got %s\nwant %s", tt.name, err, b.String(), tt.want)
		}
	}
}

func TestWriteFails(t *testing.T) {
	c := NewConn(stream{strings.NewReader(""), io.Discard}, 100)
	if err := c.Notify("x", strings.Repeat("x", 100))(); !errors.Is(err, errTooLong) {
		t.Errorf("too long: %v", err)
	}
	if err := c.Notify("x", func() {})(); err == nil || !strings.Contains(err.Error(), "encoding x") {
		t.Errorf("not JSON: %v", err)
	}
	r, w := io.Pipe()
	r.CloseWithError(io.ErrNoProgress)
	c = NewConn(stream{r, w}, testMax)
	for range 2 { // the line may be half written: nothing can follow it
		if err := c.Notify("x", struct{}{})(); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("broken stream: %v", err)
		}
	}
}

func TestConcurrentWriters(t *testing.T) {
	r, w := io.Pipe()
	guest := NewConn(stream{r, io.Discard}, testMax)
	host := NewConn(stream{strings.NewReader(""), w}, testMax)
	const writers, each = 8, 50
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range each {
				result, _ := json.Marshal(strings.Repeat("x", j*4000)) // both below and above the buffer
				if err := host.Respond(int64(i), result); err != nil {
					t.Error(err)
				}
			}
		})
	}
	next := [writers]int{}
	for range writers * each {
		m, err := guest.Read()
		if err != nil {
			t.Fatal(err)
		}
		if want := next[m.ID]*4000 + 2; len(m.Result) != want {
			t.Fatalf("writer %d: %d bytes, want %d", m.ID, len(m.Result), want)
		}
		next[m.ID]++
	}
	wg.Wait()
}

func FuzzRead(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"output","params":{"run":1,"stream":"stdout","text":"a\u00e9\n"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"server":"s","tool":"t","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"status":"ok","value":{"repr":"2","json":2}}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"id":2}`, `[[[[`, `{"a":{"b":[1,2.5e-3,true,null,"\ud800"]}}`,
		"\x00\xff", `{"jsonrpc":`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := NewConn(stream{bytes.NewReader(data), io.Discard}, 4096)
		for {
			m, err := c.Read()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, ErrProtocol) {
					t.Fatalf("error of no kind: %v", err)
				}
				return
			}
			for _, part := range []json.RawMessage{m.Params, m.Result} {
				if part != nil && !json.Valid(part) {
					t.Fatalf("accepted %q", part)
				}
			}
			if m.Method == "" && (m.Result == nil) == (m.Error == nil) {
				t.Fatalf("neither request nor answer: %+v", m)
			}
		}
	})
}

// FuzzParse holds the parser against encoding/json.
func FuzzParse(f *testing.F) {
	for _, value := range []string{
		`{"a":[1,-0.5e10,"\u00e9\\",true,false,null,{}]}`, `[`, `1.`, `"\ud8"`, `[1,]`, `{"a"}`, " [ ] ",
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		line := `{"jsonrpc":"2.0","id":1,"result":` + value + `}`
		m, err := parseMessage([]byte(line))
		var want struct{ Result json.RawMessage }
		wantErr := json.Unmarshal([]byte(line), &want)
		if err == nil && (wantErr != nil || !bytes.Equal(bytes.TrimSpace(m.Result), bytes.TrimSpace(want.Result))) {
			t.Fatalf("accepted %q as %q, encoding/json: %q, %v", line, m.Result, want.Result, wantErr)
		}
		// A value with a brace in it may end the object and add members, of which we refuse more than encoding/json.
		if err != nil && wantErr == nil && utf8.ValidString(value) && !strings.Contains(value, "}") {
			t.Fatalf("refused %q: %v", line, err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{100, 64 << 10, 30 << 20} {
		b.Run(sizeName(size), func(b *testing.B) {
			line := []byte(
				`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"text":"` + strings.Repeat(
					"x", size,
				) + "\"}}\n",
			)
			b.SetBytes(int64(len(line)))
			r := bytes.NewReader(line)
			c := NewConn(stream{r, io.Discard}, 64<<20)
			for b.Loop() {
				r.Reset(line)
				if _, err := c.Read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRespond(b *testing.B) {
	for _, size := range []int{100, 64 << 10, 30 << 20} {
		b.Run(sizeName(size), func(b *testing.B) {
			result := raw(`"` + strings.Repeat("x", size) + `"`)
			b.SetBytes(int64(size))
			c := NewConn(stream{strings.NewReader(""), io.Discard}, 64<<20)
			for b.Loop() {
				if err := c.Respond(1, result); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func sizeName(size int) string {
	switch {
	case size >= 1<<20:
		return "MiB"
	case size >= 1<<10:
		return "KiB"
	}
	return "small"
}

// TestLargeIsReadLater holds that what is behind the first part of a large message stays with the guest until it may be
// read, and that nobody is asked about a small one.
func TestLargeIsReadLater(t *testing.T) {
	const large = 2 * bufferSize
	small := `{"jsonrpc":"2.0","method":"a","params":{}}` + "\n"
	text := strings.Repeat("x", 10*large)
	from := strings.NewReader(small + `{"jsonrpc":"2.0","method":"a","params":{"x":"` + text + `"}}` + "\n")
	c := NewConn(struct {
		io.Reader
		io.Writer
	}{from, io.Discard}, testMax*10)
	var left []int
	c.LimitReading(large, func(bool) error {
		left = append(left, from.Len())
		return nil
	})
	if _, err := c.Read(); err != nil || len(left) > 0 {
		t.Fatalf("a small message: %v, %v", err, left)
	}
	if m, err := c.Read(); err != nil || len(m.Params) < 10*large {
		t.Fatalf("a large message: %v", err)
	}
	if len(left) != 1 || left[0] < 8*large {
		t.Errorf("asked with so much left: %v", left)
	}
}

// TestUnwanted: of a large message that nobody wants any more the rest is thrown away, and of a request is known whose
// answer is waited for; an answer itself is always read.
func TestUnwanted(t *testing.T) {
	const large = 2 * bufferSize
	text := strings.Repeat("x", 10*large)
	c := NewConn(struct {
		io.Reader
		io.Writer
	}{strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":%q}}`+"\n"+
		`{"jsonrpc":"2.0","method":"a","params":{"x":%q}}`+"\n"+
		`{"jsonrpc":"2.0","id":8,"result":{"x":%q}}`+"\n", text, text, text)), io.Discard}, testMax*10)
	c.LimitReading(large, func(answer bool) error {
		if answer {
			return nil
		}
		return ErrUnwanted
	})
	if m, err := c.Read(); err != nil || !m.Unread || m.ID != 7 || m.Params != nil {
		t.Errorf("a request: %+v, %v", m, err)
	}
	if m, err := c.Read(); err != nil || m.Unread || m.ID != 8 || len(m.Result) < 10*large {
		t.Errorf("an answer, behind a notification: %d, %d bytes, %v", m.ID, len(m.Result), err)
	}
	if _, err := c.Read(); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
}
