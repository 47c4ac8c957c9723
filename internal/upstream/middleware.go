package upstream

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addMiddleware corrects what the SDK (v1.8.0) does with what servers say.
func (sess *session) addMiddleware(client *mcp.Client) {
	client.AddSendingMiddleware(withoutTTL)
	client.AddReceivingMiddleware(sess.recovered)
}

// withoutTTL has the SDK not answer tools/list from its cache for as long as the server's ttlMs says: when to ask again
// is decided here, and the text of each page is read, which a cached result does not have.
func withoutTTL(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if list, ok := result.(*mcp.ListToolsResult); ok && list != nil {
			list.TTLMs = 0
		}
		return result, err
	}
}

// recovered makes an error of a panic in the SDK over a malformed message, which would end codemode with all its
// sessions. It is known of notifications/elicitation/complete without parameters.
func (sess *session) recovered(next mcp.MethodHandler) mcp.MethodHandler {
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
