package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"codemode/internal/proc/proctest"
)

// FuzzAnswers is a server that writes anything while it is called. The call ends with a result that is JSON, or in an
// error of the server's; and the next one is answered, by that server or by one started afresh.
func FuzzAnswers(f *testing.F) {
	for _, lines := range []string{
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"early"}]}}`,
		`{"jsonrpc":"2.0","id":ID,"result":[]}` + "\n" + `{"jsonrpc":"2.0","id":ID,"error":{"code":1e3,"message":5,"data":{}}}`,
		`{"jsonrpc":"2.0","id":"ID","result":{}}`, `{"id":null,"result":null,"error":null}`, `{"jsonrpc":"1.0","id":ID,"result":{"isError":"yes"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":ID,"progress":"x"}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":[]}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}`,
		`[{"jsonrpc":"2.0","id":ID,"result":{}}]`, "\x00\xff\n\r\n{", `{"jsonrpc":"2.0","id":99999,"result":{}}`, `"`,
	} {
		f.Add([]byte(lines))
	}
	for _, method := range []string{
		"elicitation/complete", "cancelled", "progress", "message", "tools/list_changed", "prompts/list_changed",
		"resources/list_changed", "resources/updated", "tasks/status", "initialized",
	} {
		for _, params := range []string{"", `,"params":null`, `,"params":[null]`, `,"params":"x"`, `,"params":{"_meta":null}`} {
			line := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/%s"%s}`, method, params)
			f.Add([]byte(line + "\n" + line))
		}
	}
	server := fake("stub")
	server.Env = marked(proctest.Mark(f))
	fresh := func() *Pool {
		return NewPool(Options{
			Servers:      append(Options{}.Servers, server),
			Lookup:       func(string) (string, bool) { return "", false },
			Expand:       expandWith(func(string) (string, bool) { return "", false }),
			StartTimeout: time.Minute,
			CallTimeout:  time.Minute,
			Version:      "test",
		})
	}
	pool := fresh()
	f.Cleanup(func() {
		if err := pool.Close(); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, lines []byte) {
		args, err := json.Marshal(map[string][]byte{"lines": lines})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		result, err := pool.Call(ctx, "stub", "lines", args)
		var call *CallError
		if err != nil && !errors.As(err, &call) || err == nil && !json.Valid(result) {
			t.Errorf("%q: %s, %v", lines, result, err)
		}
		if call != nil && call.Crashed { // a habit of that would have it left alone for a while
			if err := pool.Close(); err != nil {
				t.Error(err)
			}
			pool = fresh()
		}
		if again, err := pool.Call(
			ctx,
			"stub",
			"echo",
			json.RawMessage(`{"message":"after"}`),
		); err != nil ||
			textOf(t, again) != "after" {
			t.Errorf("after %q: %s, %v", lines, again, err)
		}
	})
}
