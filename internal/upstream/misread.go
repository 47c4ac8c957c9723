package upstream

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
