//lint:file-ignore SA1019 roots are deprecated since MCP 2026-07-28, and servers of today ask for them

package upstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestFloodWithoutALine has a server write without end in a call: it is stopped long before its deadline, and the next
// call starts it again.
func TestFloodWithoutALine(t *testing.T) {
	f := newPool(t, func(o *Options) { o.MaxMessage = 1 << 20 }, fake("stub"))
	before := f.text("stub", "pid", "")
	_, err := f.Call(f.ctx(), "stub", "flood", nil)
	var call *CallError
	if !errors.As(err, &call) || !call.Crashed ||
		!strings.Contains(err.Error(), "more than 16777216 bytes without a line end") {
		t.Errorf("the error is %v", err)
	}
	if after := f.text("stub", "pid", ""); after == before {
		t.Error("it is the process it was")
	}
}

// TestSelfIsToldByMoreThanItsName has servers that are no codemode, and one that may be.
func TestSelfIsToldByMoreThanItsName(t *testing.T) {
	f := newPool(t, nil, fake("named", "-name", "codemode"), fake("alike", "-as-codemode"))
	for _, name := range []string{"named", "alike"} {
		if _, err := f.Tools(f.ctx(), name); err != nil {
			t.Error(err)
		}
	}
	f = newPool(t, func(o *Options) { o.AllowSelf = true }, fake("both", "-name", "codemode", "-as-codemode"))
	if _, err := f.Tools(f.ctx(), "both"); err != nil {
		t.Error(err)
	}
}

// TestManyQuestions: what waits while a server's question stands is bounded in bytes, and so is what an answer says of
// its request. The rest is refused, and there is room again once the question is answered.
func TestManyQuestions(t *testing.T) {
	answered, refusals := make(chan struct{}), make(chan string, 100)
	c := connected(func(context.Context) (mcp.InputResponse, error) {
		<-answered
		return &mcp.ListRootsResult{}, nil
	})
	c.reply = func(_ context.Context, msg jsonrpc.Message) error {
		refusals <- fmt.Sprint(msg.(*jsonrpc.Response).Error)
		return nil
	}
	ask := func(id string, bytes int) {
		const line = `{"jsonrpc":"2.0","id":%q,"method":"roots/list","params":{"x":%q}}`
		c.message(fmt.Appendf(nil, line, id, strings.Repeat("x", bytes)), nil)
	}
	ask("first", maxWaiting+1) // one may be as large as a message
	for n := range 40 {
		ask(fmt.Sprint(n), 1<<20)
	}
	for range 40 {
		if got := <-refusals; got != errWaiting.Error() {
			t.Errorf("the server is told %q", got)
		}
	}
	ask(strings.Repeat("x", maxID+1), 1)
	if msg, _ := c.message(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":9,"method":%q}`, strings.Repeat("x", maxID+1)), nil); msg != nil {
		t.Error("a method of any length is answered")
	}
	if c.state.owed != 41 {
		t.Errorf("%d answers are owed, want 41", c.state.owed)
	}
	close(answered)
	if got := <-refusals; got != "<nil>" {
		t.Errorf("the first is refused: %s", got)
	}
	c.work.Wait()
	ask("later", 1<<20)
	if got := <-refusals; got != "<nil>" {
		t.Errorf("a later one is refused: %s", got)
	}
	c.finish()
	c.work.Wait()
}
