package mcpserver

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/bridge"
	"codemode/internal/config"
	"codemode/internal/hint"
)

// Unready is what a codemode serves that cannot run code as it is configured: a client shows its user what a server
// says, and nothing of one that ended. Every call is answered with what is wrong, until there is a server that can.
type Unready struct {
	Version string
	Log     *slog.Logger
	Why     func() error // what is wrong now
	// Waits until there is a server that can, or ctx ends; closing what it returns ends both.
	Mend func(ctx context.Context) (*Server, func())
}

// Serve is Server.Serve, with a server as soon as there is one.
func (u Unready) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	defaults, _ := config.Load(config.Source{}) // of nothing, which has no mistakes
	stand := New(nil, Options{Config: defaults})
	sdk := mcp.NewServer(&mcp.Implementation{Name: "codemode", Version: u.Version}, &mcp.ServerOptions{
		Logger:       slog.New(demoteInfoHandler{u.Log.Handler()}),
		Instructions: "codemode cannot run code: " + u.says(),
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{},
		},
	})
	var ready atomic.Pointer[rounds]
	handle := func(run context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if calls := ready.Load(); calls != nil {
			return calls.handle(ctx, run, req, calls.runPython).(*mcp.CallToolResult), nil
		}
		return toolResult(bridge.NotRun(hint.New(u.Why().Error(), u.remedies()...)), stand.form("")), nil
	}
	sdk.AddTool(stand.definition(), handle)

	ctx, served := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer served()
	work.Go(func() {
		s, closed := u.Mend(ctx)
		if s == nil {
			return
		}
		calls := newRounds(ctx, s)
		sdk.AddReceivingMiddleware(s.meet)
		ready.Store(calls)
		s.addExposed(ctx, sdk, calls)
		sdk.AddTool(s.definition(), handle)
		s.addResources(sdk)
		<-ctx.Done()
		calls.close()
		closed()
	})
	return serveConn(ctx, sdk, in, out, u.Log)
}

// says is each thing that is wrong, and what to do about it.
func (u Unready) says() string {
	var mistakes []string
	for _, err := range u.mistakes() {
		mistakes = append(mistakes, strings.Join(append([]string{err.Error()}, hint.Of(err)...), "; "))
	}
	return strings.Join(mistakes, "\n") + "; " + mend
}

func (u Unready) remedies() (hints []string) {
	for _, err := range u.mistakes() {
		hints = append(hints, hint.Of(err)...)
	}
	return append(hints, mend)
}

const mend = "mend that, and call again: codemode sees it within seconds"

func (u Unready) mistakes() []error {
	why := u.Why()
	if joined, ok := why.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{why}
}
