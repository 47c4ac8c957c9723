package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestCallLimit is about how long a call may take when its server says something meanwhile, by what the connection
// reads.
func TestCallLimit(t *testing.T) {
	const limit = 10 * time.Second
	progress := func(c *calls, token int64) {
		c.message(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d}}`, token), nil)
	}
	question := func(c *calls, of *slot) {
		c.message([]byte(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?"}}`), of)
	}
	for name, tt := range map[string]struct {
		server func(c *calls, s *slot) // from the call's beginning
		want   time.Duration
	}{
		"silence": {func(*calls, *slot) {}, limit},
		"progress of it": {func(c *calls, s *slot) {
			for range 3 {
				<-time.After(9 * time.Second)
				progress(c, s.token)
			}
		}, 3*9*time.Second + limit},
		"progress of another call": {func(c *calls, s *slot) {
			<-time.After(9 * time.Second)
			progress(c, s.token+1)
		}, limit},
		"progress without end": {func(c *calls, s *slot) {
			for n := 0; n < 1000 && s.ctx.Err() == nil; n++ {
				<-time.After(time.Second)
				progress(c, s.token)
			}
		}, maxExtension * limit},
		"a question about it, a minute long": {func(c *calls, s *slot) {
			<-time.After(9 * time.Second)
			question(c, s)
		}, 9*time.Second + time.Minute + limit},
		"a question that may be about it": {func(c *calls, _ *slot) {
			question(c, nil)
		}, time.Minute + limit},
		"a question about another call": {func(c *calls, s *slot) {
			question(c, &slot{})
		}, limit},
		"progress without end and a question": {func(c *calls, s *slot) {
			question(c, s)
			for n := 0; n < 1000 && s.ctx.Err() == nil; n++ {
				<-time.After(time.Second)
				progress(c, s.token)
			}
		}, time.Minute + maxExtension*limit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connected(func(ctx context.Context) (mcp.InputResponse, error) {
					select {
					case <-time.After(time.Minute):
					case <-ctx.Done():
					}
					return &mcp.ElicitResult{Action: "decline"}, nil
				})
				began := time.Now()
				ctx, cancel := context.WithCancelCause(t.Context())
				s := &slot{ctx: ctx, cancel: cancel}
				s.limit(limit, "it")
				c.expect(s)
				over := make(chan struct{})
				go func() {
					defer close(over)
					tt.server(c, s)
				}()
				<-ctx.Done()
				if took := time.Since(began); took != tt.want || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
					t.Errorf("it ended after %v, want %v: %v", took, tt.want, context.Cause(ctx))
				}
				<-over
				c.take(s)
				c.finish()
				c.work.Wait()
			})
		})
	}
}

// connected is a connection without a server, whose questions are answered so.
func connected(respond func(context.Context) (mcp.InputResponse, error)) *calls {
	c := &calls{
		log:  slog.New(slog.DiscardHandler),
		told: func(context.Context, Progress) {},
		respond: func(ctx context.Context, _ About, _ mcp.InputRequest) (mcp.InputResponse, error) {
			return respond(ctx)
		},
		reply:  func(context.Context, jsonrpc.Message) error { return nil },
		broken: make(chan struct{}), done: make(chan struct{}),
		state: callsState{
			requests: map[int64]request{}, slots: map[int64]*slot{}, asked: map[any]context.CancelCauseFunc{},
			left: map[int64]leftCall{},
		},
	}
	c.life, c.hangup = context.WithCancel(context.Background())
	return c
}

// TestRefusedByTimeout: a call that took too long has done so, also where its server, told to cancel it, says an error
// before anybody has looked.
func TestRefusedByTimeout(t *testing.T) {
	t.Parallel()
	f := newPool(t, nil, fake("slow"))
	f.names("slow")
	var sess *session
	f.entry("slow").update(func(st *serverState) { sess = st.live })
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := sess.round(ctx, "echo", "it", func(ctx context.Context, _ mcp.Meta) error {
		cancel(cause)
		sess.calls.update(func(*callsState) { slotOf(ctx).err = &jsonrpc.Error{Message: "context canceled"} })
		return ctx.Err()
	})
	if !errors.Is(err, cause) {
		t.Errorf("the error is %v, want %v", err, cause)
	}
}
