package bridge

import (
	"context"
	"log/slog"
)

// logged is how log lines name what they belong to.
type logged struct{ run, session string } // run is empty between runs

type loggedKey struct{}

// withLogged makes what is logged in ctx name its run, and the session of that.
func withLogged(ctx context.Context, run, session string) context.Context {
	return context.WithValue(ctx, loggedKey{}, logged{run, session})
}

// LogHandler is a log's handler that adds run and session to the lines that belong to a run, whichever package writes
// them: the run is in their context.
func LogHandler(h slog.Handler) slog.Handler { return named{h} }

type named struct{ slog.Handler }

func (n named) Handle(ctx context.Context, r slog.Record) error {
	if l, ok := ctx.Value(loggedKey{}).(logged); ok {
		r = r.Clone()
		if l.run != "" {
			r.AddAttrs(slog.String("run", l.run))
		}
		r.AddAttrs(slog.String("session", l.session))
	}
	return n.Handler.Handle(ctx, r)
}

func (n named) WithAttrs(a []slog.Attr) slog.Handler { return named{n.Handler.WithAttrs(a)} }

func (n named) WithGroup(name string) slog.Handler { return named{n.Handler.WithGroup(name)} }
