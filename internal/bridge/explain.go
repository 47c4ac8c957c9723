package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"codemode/internal/guest"
	"codemode/internal/servers"
	"codemode/internal/upstream"
)

// unavailable is the answer to a call for a server this run cannot use.
func unavailable(server, hint string) (int, string, guest.ErrorData) {
	msg := fmt.Sprintf("Server '%s' is not available", server)
	return guest.CodeUnavailable, msg, guest.ErrorData{Server: server, Hint: hint}
}

// notYours stands for a server's last lines where several sessions have used it: it may have written there what one of
// them has sent.
const notYours = "(not shown: several sessions have used it; codemode's log has them, with log.level = debug)"

// explain turns an upstream's failure into the error the guest gets.
func (b *Bridge) explain(server, tool string, err error) (int, string, guest.ErrorData) {
	code, message, data := explained(server, tool, err)
	if data.Stderr != "" && b.admission.lanesOf(server).isShared() {
		data.Stderr = notYours
	}
	return code, message, data
}

func explained(server, tool string, err error) (int, string, guest.ErrorData) {
	data := guest.ErrorData{Server: server, Tool: tool}
	var start *upstream.StartError
	var call *upstream.CallError
	var none *servers.NoToolError
	switch {
	case errors.As(err, &none):
		data.Hint = none.Suggestion()
		return guest.CodeUnavailable, none.Error(), data
	case errors.As(err, &start):
		data.Stderr, data.Hint = start.Stderr, start.Way()
		return guest.CodeUnavailable, start.Error(), data
	case errors.As(err, &call):
		data.Code, data.Stderr = call.Code, call.Stderr
		if json.Valid(call.Data) {
			data.Data = call.Data
		}
		return guest.CodeToolFailed, call.Error(), data
	case errors.Is(err, context.DeadlineExceeded):
		return guest.CodeTimeout, err.Error(), data
	case errors.Is(err, context.Canceled), errors.Is(err, errRunOver), errors.Is(err, errGuestCancelled):
		return guest.CodeCancelled, err.Error(), data
	default:
		return guest.CodeToolFailed, err.Error(), data
	}
}
