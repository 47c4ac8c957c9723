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

// TestManyValues has a server send what is short as a text and many times that once it is decoded: nobody decodes it.
// What a call returns is handed on as it is.
func TestManyValues(t *testing.T) {
	lists := "[" + strings.Repeat("[],", maxValues) + "[]]"
	for what, tt := range map[string]struct {
		line   string
		answer bool // the SDK waits for one, and is told why there is none
	}{
		"a request":         {`{"jsonrpc":"2.0","id":"9","method":"none","params":{"x":` + lists + `}}`, false},
		"a question":        {`{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"message":"?","x":` + lists + `}}`, false},
		"an initialization": {`{"jsonrpc":"2.0","id":9,"result":{"capabilities":{"experimental":` + lists + `}}}`, true},
	} {
		msg, _ := connected(nil).message([]byte(tt.line), nil)
		answer, ok := msg.(*jsonrpc.Response)
		if msg != nil && !ok || ok != tt.answer || ok && !strings.Contains(answer.Error.Error(), errMany.Error()) {
			t.Errorf("of %s the SDK gets %.200v", what, msg)
		}
	}
	few := lists[:3*maxUnasked+1] + "[]]" // but many of what nobody has asked for
	for _, method := range []string{"ping", "roots/list"} {
		c := connected(func(context.Context) (mcp.InputResponse, error) { return nil, nil })
		text := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"9","method":%q,"params":{"x":%s}}`, method, few)
		msg, _ := c.message(text, nil)
		if msg != nil || c.state.owed > 0 {
			t.Errorf("%s with %d values is decoded", method, maxUnasked)
		}
	}
	long := `{"jsonrpc":"2.0","id":9,"result":{"instructions":"` + strings.Repeat("x", maxKept) + `"}}`
	msg, _ := connected(nil).message([]byte(long), nil)
	if r, ok := msg.(*jsonrpc.Response); !ok || r.Error == nil || !strings.Contains(r.Error.Error(), errKept.Error()) {
		t.Errorf("of a long initialization the SDK gets %.200v", msg)
	}
	for method, want := range map[string]error{
		"tools/list": errMany, "prompts/list": errMany, "resources/list": errMany, "resources/templates/list": errMany,
		"tools/call": nil, "resources/read": nil,
	} {
		c, s := connected(nil), &slot{}
		id, _ := jsonrpc.MakeID(float64(9))
		c.register(request{id, method, s})
		c.message(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":9,"result":{"x":%s}}`, lists), nil)
		if result, err := c.take(s); !errors.Is(err, want) || want == nil && len(result) < len(lists) {
			t.Errorf("the answer to %s is %d bytes, %v", method, len(result), err)
		}
	}
}
