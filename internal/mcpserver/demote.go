package mcpserver

import (
	"context"
	"log/slog"
)

// demoteInfoHandler is a log handler for the SDK, which reports every session's birth and end as news: to codemode's
// user they are details.
type demoteInfoHandler struct{ slog.Handler }

func (q demoteInfoHandler) lower(l slog.Level) slog.Level {
	if l <= slog.LevelInfo {
		return slog.LevelDebug
	}
	return l
}

func (q demoteInfoHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return q.Handler.Enabled(ctx, q.lower(l))
}

func (q demoteInfoHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Level = q.lower(r.Level)
	return q.Handler.Handle(ctx, r)
}

func (q demoteInfoHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return demoteInfoHandler{q.Handler.WithAttrs(a)}
}

func (q demoteInfoHandler) WithGroup(name string) slog.Handler {
	return demoteInfoHandler{q.Handler.WithGroup(name)}
}
