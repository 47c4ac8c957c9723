package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/fakemcp"
	"codemode/internal/require"
)

func TestCall(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	for _, c := range []struct{ tool, args, want string }{
		{"echo", `{"message":"hi"}`, "hi"},
		{"echo", `{"message":"<b>&\u2028 日本 \ud83d\ude00"}`, "<b>&\u2028 日本 😀"},
		{"add", `{"a":1,"b":2.5}`, "3.5"},
		{"arguments", ``, "{}"},
		{"arguments", `null`, "{}"},
		{
			"arguments", `{"z":1.0,"a":1e2,"big":12345678901234567890,"html":"<&>","s":"\u00e9"}`,
			`{"z":1.0,"a":1e2,"big":12345678901234567890,"html":"<&>","s":"\u00e9"}`,
		},
		{"arguments", "{\n \"a\" :\t[1,\r\n2] }", `{"a":[1,2]}`},
	} {
		if got := f.text("stub", c.tool, c.args); got != c.want {
			t.Errorf("%s(%s) is %q, want %q", c.tool, c.args, got, c.want)
		}
	}
}

func TestResultIsVerbatim(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	for _, want := range []string{
		`{"content":[],"structuredContent":{"z":1.0,"a":1e2,"n":12345678901234567890},"x-unknown":[null]}`,
		`{ "isError" : true, "content":[{"type":"text","text":"\u003cb\u003e \ud83d\ude00"},{"type":"hologram","data":1}], "_meta":{"b":1,"a":2} }`,
		`{"content":"not even a list"}`,
		`{"resultType":"input_required","content":[]}`,
		`{}`,
	} {
		args, _ := json.Marshal(map[string]string{"result": want})
		got, err := f.Call(f.ctx(), "stub", "verbatim", args)
		if err != nil || string(got) != want {
			t.Errorf("the result is %s, %v, want %s", got, err, want)
		}
	}
}

func TestBigMessages(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	big := 4 << 20
	if require.Named("soak") {
		big = 30 << 20
	}
	for _, n := range []int{64 << 10, 64<<10 + 1, 1 << 20, big} {
		if got := f.text("stub", "big", fmt.Sprintf(`{"n":%d}`, n)); len(got) != n {
			t.Errorf("the result has %d bytes, want %d", len(got), n)
		}
	}
	for _, n := range []int{64 << 10, big / 4} {
		if got := f.text("stub", "echo", `{"message":"`+strings.Repeat("é", n/2)+`"}`); len(got) != n {
			t.Errorf("the argument came back with %d bytes, want %d", len(got), n)
		}
	}
}

func TestMessageAboveTheLimit(t *testing.T) {
	f := newPool(t, func(o *Options) { o.MaxMessage = 256 << 10 }, fake("stub"))
	first := f.text("stub", "pid", `{}`)
	_, err := f.Call(f.ctx(), "stub", "big", json.RawMessage(`{"n":300000}`))
	var call *CallError
	if !errors.As(err, &call) || !strings.Contains(err.Error(), "longer than 262144 bytes") {
		t.Errorf("the error is %v", err)
	}
	long, _ := json.Marshal(map[string]string{"result": `{"content":[],"x":"` + strings.Repeat("y", 400000) + `"}`})
	if _, err := f.Call(f.ctx(), "stub", "verbatim", long); !errors.As(err, &call) {
		t.Errorf("with its id at the end, the error is %v", err)
	}
	if again := f.text("stub", "pid", `{}`); again != first {
		t.Error("the server was started again")
	}
}

func TestToolsAreVerbatim(t *testing.T) {
	f := newPool(t, nil, fake("zoo", "-schema-zoo"), fake("odd", "-odd-names"))
	tools, err := f.Tools(f.ctx(), "zoo")
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(tools))
	for _, raw := range tools {
		got = append(got, string(raw))
	}
	if want := fakemcp.SchemaZoo(); !slices.Equal(got, want) {
		t.Errorf("the tools are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	names := f.names("odd")
	if want := append(fakemcp.OddNames(), fakemcp.RequestName); !slices.Equal(names, want) {
		t.Errorf("the names are %q, want %q", names, want)
	}
	for _, name := range names {
		if got, want := f.text("odd", name, `{"a":1}`), fmt.Sprintf("%q %s", name, `{"a":1}`); got != want {
			t.Errorf("calling %q brought %q", name, got)
		}
	}
}

func TestPages(t *testing.T) {
	plain := newPool(t, nil, fake("stub", "-tools", "23")).names("stub")
	paged := newPool(t, nil, fake("stub", "-tools", "23", "-pages", "5")).names("stub")
	if len(plain) < 23 || !slices.Equal(plain, paged) {
		t.Errorf("%d tools at once, %d in pages", len(plain), len(paged))
	}
}

// A list that is too large, or without end, is refused for the first bound it meets, and held no longer.
func TestListingTooLarge(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"cycle": `a cursor comes for the second time`,
		"bytes": "more than 67108864 bytes",
		"tools": "more than 20000 tools",
		"pages": "more than 1000 pages",

		"definition":  `the definition of its tool "t" has more than 1048576 bytes`,
		"definitions": "bytes, more than 8388608",
	} {
		t.Run(how, func(t *testing.T) {
			f := newPool(t, nil, fake("endless", "-listing", how))
			_, err := f.Tools(f.ctx(), "endless")
			var start *StartError
			if !errors.As(err, &start) || start.Step != "tools/list" || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one that says %q", err, want)
			}
		})
	}
}

// A server that asks and asks and reads no answer is stopped before what it is owed fills the memory.
func TestServerThatNags(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	_, err := f.Call(f.ctx(), "stub", "nag", json.RawMessage(`{}`))
	var call *CallError
	if !errors.As(err, &call) || !call.Crashed {
		t.Errorf("the error is %v, want the server's end", err)
	}
	f.waitForLog("answers unread and kept asking")
	if got := f.text("stub", "echo", `{"message":"again"}`); got != "again" {
		t.Errorf("afterwards it says %q", got)
	}
}

func TestServerErrors(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	raw, err := f.Call(f.ctx(), "stub", "fail", json.RawMessage(`{"message":"no"}`))
	if err != nil || !strings.Contains(string(raw), `"isError":true`) {
		t.Errorf("isError is %s, %v, want a result", raw, err)
	}
	for _, c := range []struct {
		tool, args string
		code       int64
		text, data string
	}{
		{"refuse", `{}`, -32042, "no such luck", `{"why":["a",1.50]}`},
		{"nonesuch", `{}`, -32602, "nonesuch", ""},
		{"nan", `{}`, 0, "not valid JSON", ""},
		{"verbatim", `{"result":"null"}`, 0, "not an object", ""},
		{"verbatim", `{"result":"{\"x\":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}"}`, 0, "nested deeper than 1000 levels", ""},
		{"verbatim", `{"result":"[1]"}`, 0, "not an object", ""},
		{"echo", `{"message":`, 0, "arguments", ""},
	} {
		_, err := f.Call(f.ctx(), "stub", c.tool, json.RawMessage(c.args))
		var call *CallError
		if !errors.As(err, &call) {
			t.Errorf("%s(%s): the error is %v, want a *CallError", c.tool, c.args, err)
			continue
		}
		if call.Code != c.code || string(call.Data) != c.data || !strings.Contains(call.Error(), c.text) ||
			call.Crashed {
			t.Errorf("%s(%s): the error is %+v", c.tool, c.args, call)
		}
	}
	if got := f.text("stub", "echo", `{"message":"still here"}`); got != "still here" {
		t.Errorf("afterwards it says %q", got)
	}
}

func TestLoneSurrogates(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	pid := f.text("stub", "pid", `{}`)
	if got := f.text("stub", "echo", `{"message":"a\ud800b\udc00\ud83d\ude00"}`); got != "a\ufffdb\ufffd😀" {
		t.Errorf("the answer is %q", got)
	}
	if got := f.text("stub", "echo", "{\"message\":\"a\xffb\"}"); got != "a\ufffdb" {
		t.Errorf("the answer is %q", got)
	}
	if f.text("stub", "pid", `{}`) != pid {
		t.Error("the server was started again")
	}
}

func TestConcurrentCalls(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	f.names("stub")
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := f.Call(ctx, "stub", "slow", json.RawMessage(`{"ms":600000}`)); !errors.Is(err, enough) {
				t.Error(err)
			}
		})
	}
	f.eventually("the server has all of them at once", func() bool {
		return strings.Count(f.log.String(), "slow is under way") == 20
	})
	cancel(enough)
	wg.Wait()
}

func TestCancelledCall(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	pid := f.text("stub", "pid", `{}`)
	cause := errors.New("lost interest")
	ctx, cancel := context.WithCancelCause(t.Context())
	over := make(chan error)
	go func() {
		_, err := f.Call(ctx, "stub", "slow", json.RawMessage(`{"ms":600000}`))
		over <- err
	}()
	f.waitForLog("slow is under way")
	cancel(cause)
	if err := <-over; !errors.Is(err, cause) {
		t.Errorf("the error is %v, want %v", err, cause)
	}
	f.waitForLog("slow was cancelled")
	if f.text("stub", "pid", `{}`) != pid {
		t.Error("the server was started again")
	}
}

// TestCallTimeout: what moves the limit is TestCallLimit's.
func TestCallTimeout(t *testing.T) {
	f := newPool(t, func(o *Options) { o.CallTimeout = 300 * time.Millisecond }, fake("hung", "-hang", "call"))
	_, err := f.Call(f.ctx(), "hung", "echo", json.RawMessage(`{"message":"hi"}`))
	var call *CallError
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &call) || !strings.Contains(err.Error(), "300ms") {
		t.Errorf("the error is %v", err)
	}
}

// A server that does not read must not hold anybody up.
func TestDeafServer(t *testing.T) {
	t.Parallel()
	f := newPool(t, nil, fake("deaf", "-deaf"))
	f.names("deaf")
	cause := errors.New("enough")
	big := json.RawMessage(`{"message":"` + strings.Repeat("x", 1<<20) + `"}`)
	for range 3 {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, cause)
		if _, err := f.Call(ctx, "deaf", "echo", big); !errors.Is(err, cause) {
			t.Errorf("the error is %v, want %v", err, cause)
		}
		cancel()
	}
}

func TestNoise(t *testing.T) {
	f := newPool(t, nil, fake("stub", "-banner", "-garbage"))
	for i := range 3 {
		want := fmt.Sprint("quiet ", i)
		if got := f.text("stub", "echo", `{"message":"`+want+`"}`); got != want {
			t.Errorf("the answer is %q, want %q", got, want)
		}
	}
	if !strings.Contains(f.log.String(), "listening on stdio [ready]") {
		t.Error("the banner is not in the log")
	}
}

func TestUnknownServer(t *testing.T) {
	f := newPool(t, nil, fake("stub"))
	if _, err := f.Tools(f.ctx(), "stubb"); !errors.Is(err, ErrUnknownServer) ||
		!strings.Contains(err.Error(), `"stubb"`) {
		t.Errorf("the error is %v", err)
	}
}
