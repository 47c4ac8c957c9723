//lint:file-ignore SA1019 sampling, roots and logging are deprecated since MCP 2026-07-28, and servers of today use them

package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

// logLevels are MCP's levels of log messages as codemode's log has them.
var logLevels = map[mcp.LoggingLevel]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "notice": slog.LevelInfo, "warning": slog.LevelWarn,
	"error": slog.LevelError, "critical": slog.LevelError, "alert": slog.LevelError, "emergency": slog.LevelError,
}

// maxLogged is how many messages of one server the log has of a minute.
const maxLogged = 100

// logged counts what a server has logged in this minute.
type logged struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

// more reports whether one more is written, and whether it is the last.
func (l *logged) more() (more, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.since) >= time.Minute {
		l.since, l.n = now, 0
	}
	l.n++
	return l.n <= maxLogged, l.n == maxLogged
}

// logMessage writes a server's log message into codemode's.
func (sess *session) logMessage(ctx context.Context, req *mcp.LoggingMessageRequest) {
	p, log := req.Params, sess.server.log
	level, ok := logLevels[p.Level]
	if !ok {
		level = slog.LevelInfo
	}
	if !log.Enabled(ctx, level) {
		return
	}
	more, last := sess.server.logged.more()
	if !more {
		return
	}
	text, ok := p.Data.(string)
	if !ok {
		data, _ := json.Marshal(p.Data) // whose escapes would part what is encoded otherwise
		text = string(sess.secrets.redactor().JSON(data))
	}
	short := func(s string) string {
		return sess.secrets.redactor().Head(s[:min(len(s), maxSkipped)], len(s) > maxSkipped)
	}
	log.Log(
		ctx, level, "the server's log",
		"severity", short(string(p.Level)), "logger", short(p.Logger), "text", short(text),
	)
	if last {
		log.Log(ctx, level, "more of the server's log is left out for a minute")
	}
}

const logMethod = "notifications/message"

// unread is what the SDK gets of a notification that is too long to be read: of a log message that there was one.
func (c *calls) unread(n *longNotice) jsonrpc.Message {
	if n.method != logMethod {
		c.skip(n.head, n)
		return nil
	}
	params, err := json.Marshal(&mcp.LoggingMessageParams{
		Level: mcp.LoggingLevel(gjson.GetBytes(n.head, "params.level").String()), // if it stands there
		Data:  fmt.Sprintf("a message of %d bytes, which is left out: at most %d are read", n.bytes, maxNotice),
	})
	if err != nil {
		return nil
	}
	return &jsonrpc.Request{Method: n.method, Params: params}
}

// wantedLevel is the least that the log has room for, as servers are asked for it.
func (sess *session) wantedLevel() mcp.LoggingLevel {
	for _, level := range []mcp.LoggingLevel{"debug", "info", "warning"} {
		if sess.server.log.Enabled(context.Background(), logLevels[level]) {
			return level
		}
	}
	return "error"
}

// wantLog asks the server for its log, as revisions before 2026-07-28 have it; later ones have the level in each
// request. Nobody waits for the answer.
func (sess *session) wantLog() {
	init := sess.client.InitializeResult()
	if init == nil || init.Capabilities == nil || init.Capabilities.Logging == nil || sess.speaksNewest() {
		return
	}
	c := sess.calls
	c.update(func(st *callsState) {
		if !st.finished {
			c.work.Go(func() {
				err := sess.client.SetLoggingLevel(c.life, &mcp.SetLoggingLevelParams{Level: sess.wantedLevel()})
				if err != nil {
					c.log.Debug("asking for the server's log", "error", c.secrets().Error(plainly(err)))
				}
			})
		}
	})
}
