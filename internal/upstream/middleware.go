package upstream

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// guard has what is between the SDK and a server pass by unkept and bear.
func (sess *session) guard(client *mcp.Client) {
	client.AddSendingMiddleware(unkept)
	client.AddReceivingMiddleware(sess.bear)
}

// unkept has the SDK keep no list of tools for as long as a server says that one holds, and not ask again: whether to
// ask is for codemode to say, and what it keeps of a list is the text.
func unkept(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if list, ok := result.(*mcp.ListToolsResult); ok && list != nil {
			list.TTLMs = 0
		}
		return result, err
	}
}

// bear has nothing that a server says end codemode, whose other sessions it would end: the SDK, of which this is known
// of notifications/elicitation/complete without parameters (v1.8.0), may take what is said for what it should be.
func (sess *session) bear(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				sess.server.log.Error(fmt.Sprintf("what it sent as %s cannot be read: %v", method, cause))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "it cannot be read"}
			}
		}()
		if done, ok := req.(*mcp.ElicitationCompleteNotificationRequest); ok && done.Params == nil {
			return nil, nil // the SDK would hold a lock for good
		}
		return next(ctx, method, req)
	}
}
