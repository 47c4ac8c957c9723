package bridge

import (
	"context"
	"log/slog"
)

// quiet is a log handler for the SDK, which reports every session's birth and end as news: to codemode's
// user they are details.
type quiet struct{ slog.Handler }

func (q quiet) lower(l slog.Level) slog.Level {
	if l <= slog.LevelInfo {
		return slog.LevelDebug
	}
	return l
}

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return q.Handler.Enabled(ctx, q.lower(l))
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = q.lower(r.Level)
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(a []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(a)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
