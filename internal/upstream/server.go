package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codemode/internal/config"
	"codemode/internal/fair"
	"codemode/internal/redact"
)

// server is one configured server, whether it runs or not.
//
// It is stopped, starting, or live. The first who needs it moves it from stopped to starting, its own
// goroutine (run) moves it on to live and, when the session has ended, back to stopped. That goroutine owns
// the process from its start to its end. Once it is retired nothing starts any more, and the process ends when the
// last caller has left.
type server struct {
	pool   *Pool
	config config.Server
	log    *slog.Logger
	ctx    context.Context // ends with the pool, or when nobody is left in a retired server
	end    context.CancelCauseFunc

	secrets func() *redact.Secrets // of its entry, for texts that are not the server's own
	told    sync.Map               // secrets of its that code has sent to it, by which code does not learn one

	// reached says that the server at a URL has answered: where a connection is refused after that, it starts again.
	reached atomic.Bool

	changes fair.Pace // of the listings that the server has made necessary
	logged  logged

	mu    sync.Mutex
	state serverState // only in update
}

type serverState struct {
	retired  error             // why nothing may begin any more; nil as long as it may
	callers  int               // between enter and leave
	starting *future[*session] // while the server starts
	live     *session          // while it runs
	failures failures

	tools   []json.RawMessage // what the last listing brought
	stale   bool              // they may be others by now
	changed bool              // because the server said so
	listing *future[[]json.RawMessage]
	asked   bool // of the listing: the server has been asked

	notify    bool // OnToolsChanged has still to be called
	notifying bool // its goroutine runs
}

// update is the only way to the state. Goroutines are started inside it, and only when it is not retired,
// so that Close waits for all of them.
func (s *server) update(f func(*serverState)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.state)
}

// acquire returns the live session, starting the server when that is needed. However many ask, it is
// started once, and none of them can spoil it for the others by leaving.
func (s *server) acquire(ctx context.Context) (*session, error) {
	for {
		var (
			live     *session
			starting *future[*session]
			refusal  error
			pause    time.Duration
		)
		s.update(func(st *serverState) {
			switch {
			case st.retired != nil:
				refusal = st.retired
			case st.live != nil:
				live = st.live
			case st.starting != nil:
				starting = st.starting
			default:
				if pause = st.failures.pause(time.Now()); pause > 0 {
					refusal = s.refusal(st.failures, pause)
					return
				}
				st.starting = newFuture[*session]()
				starting = st.starting
				s.pool.work.Go(func() { s.run(context.WithoutCancel(ctx), starting) })
			}
		})
		switch {
		case live != nil:
			return live, nil
		case starting != nil:
			defer s.pool.opts.Observer.Waiting(ctx, s.config.Name, s.startLimit())()
			return starting.wait(ctx)
		case pause == 0 || !worthWaiting(ctx, pause):
			return nil, refusal
		}
		s.pool.opts.Progress(s.config.Name, "has failed to start, and is left alone for a moment")
		err := sleep(ctx, pause)
		s.pool.opts.Progress(s.config.Name, "")
		if err != nil {
			return nil, err
		}
	}
}

// refusal is the answer while a server that keeps failing is left alone.
func (s *server) refusal(f failures, pause time.Duration) *StartError {
	err := *f.last
	err.Err = fmt.Errorf("%d failures in a row, next try in %v; the last: %w",
		f.count, pause.Round(100*time.Millisecond), f.last.Err)
	return &err
}

// run is the life of one process of the server. asked is what is known of who needed it.
func (s *server) run(asked context.Context, starting *future[*session]) {
	start := s.pool.opts.Observer.Starting(asked, s.config.Name)
	sess, err := s.start()
	s.update(func(st *serverState) {
		st.starting = nil
		switch {
		case err != nil && err.lacks(): // which costs nothing to try, and is there as soon as its user mends it
		case err != nil:
			st.failures.add(err, time.Now())
		case st.retired == nil:
			st.live = sess
			if st.tools != nil && !slices.EqualFunc(st.tools, sess.tools, equalJSON) {
				s.announce(st)
			}
			st.tools = sess.tools
		}
	})
	if err != nil {
		start.Failed(err)
		s.log.WarnContext(asked, "server did not start", "error", err)
		starting.resolve(nil, err)
		return
	}
	start.Ready()
	defer start.Ended()
	s.log.InfoContext(asked, "server started", sess.conn.place())
	starting.resolve(sess, nil)
	select {
	case <-sess.calls.broken:
	case <-s.ctx.Done():
	}
	end := sess.stop(s.ctx)
	s.update(func(st *serverState) {
		st.live = nil
		if st.retired == nil {
			st.failures.lived(time.Since(sess.began))
			if !s.isRemote() { // a connection may end at any time; one that cannot be made again counts
				st.failures.add(end, time.Now())
			}
		}
	})
	if s.ctx.Err() == nil {
		s.log.Warn("server ended by itself", "how", sess.end)
	} else {
		s.log.Info("server ended", "how", sess.end)
	}
	close(sess.ended)
}

func equalJSON(a, b json.RawMessage) bool { return bytes.Equal(a, b) }

// startLimit is how long a start may take; 0 is no limit. A program that may have to fetch the server first has five
// times as long, unless its entry says how long: npx that is ended meanwhile leaves half of a package, and takes that
// for the whole from then on.
func (s *server) startLimit() time.Duration {
	if s.config.StartTime == 0 && s.fetches() {
		return 5 * s.pool.opts.StartTimeout
	}
	return cmp.Or(s.config.StartTime, s.pool.opts.StartTimeout)
}

// start starts the server and lists its tools, within the start timeout.
func (s *server) start() (*session, *StartError) {
	ctx, cancel := withLimit(s.ctx, "starting the server", s.startLimit())
	defer cancel()
	s.pool.opts.Progress(s.config.Name, s.doing())
	defer s.pool.opts.Progress(s.config.Name, "")
	s.update(func(st *serverState) { st.stale, st.changed = false, false })
	if s.isRemote() {
		return s.startRemote(ctx)
	}
	sess, err := startSession(ctx, s, legacyProtocol, false)
	if err != nil && refusesInitialize(err) {
		sess, err = startSession(ctx, s, newestProtocol, false)
	}
	return sess, err
}

// isRemote says whether the server is reached by URL.
func (s *server) isRemote() bool { return s.config.Command == "" && s.config.URL != "" }

// startRemote tries the transport that the entry says, then the other: many entries do not say which, and clients guess
// differently. By URL a server that does not know the newest way of beginning says so at once, and the SDK goes on with
// initialize. One that was there before may be restarting: what broke may have been with the process that was ending.
func (s *server) startRemote(ctx context.Context) (*session, *StartError) {
	sse := s.config.Transport == config.SSE
	wasThere := s.reached.Load()
	sess, err := startSession(ctx, s, newestProtocol, sse)
	if err != nil && wasThere && errors.Is(err.Err, errBroke) {
		sess, err = startSession(ctx, s, newestProtocol, sse)
	}
	var refused *refusedError
	if err != nil && errors.As(err.Err, &refused) && refused.wrongTransport() {
		if other, failed := startSession(ctx, s, newestProtocol, !sse); failed == nil {
			return other, nil
		}
	}
	return sess, err
}

// call calls a tool in the live session. A call that may have had an effect is never repeated, unless the server says
// of the tool that this changes nothing. definition is what the server must list of it; nil is whatever it lists.
func (s *server) call(ctx context.Context, tool string, definition, args json.RawMessage) (json.RawMessage, error) {
	if definition != nil {
		ctx = context.WithValue(ctx, judgedKey{}, judged{tool, definition})
	}
	return s.live(ctx, tool, func(ctx context.Context, sess *session) (json.RawMessage, bool, error) {
		result, err := sess.call(ctx, tool, args)
		return result, isCrash(err) && sess.repeatable(tool), err
	})
}

// judged is a call's tool, by the definition that it was judged by. It is in the context, under judgedKey.
type judged struct {
	tool       string
	definition json.RawMessage
}

type judgedKey struct{}

// listKey is of the context of a request that is for a server with these tools alone, a []json.RawMessage.
type listKey struct{}

// ForTools has a request sent only while its server lists these tools, and no others: its user has agreed to what is
// sent to such a server. Else the error is ErrRelisted.
func ForTools(ctx context.Context, tools []json.RawMessage) context.Context {
	return context.WithValue(ctx, listKey{}, tools)
}

// isJudged says whether a request goes by what its server lists.
func isJudged(ctx context.Context) bool {
	return ctx.Value(judgedKey{}) != nil || ctx.Value(listKey{}) != nil
}

// redefined is why a request is not sent to a server that lists these tools; nil where it may be.
func (s *server) redefined(ctx context.Context, tools []json.RawMessage) error {
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	j, ok := ctx.Value(judgedKey{}).(judged)
	if ok && !slices.ContainsFunc(tools, func(t json.RawMessage) bool { return same(t, j.definition) }) {
		err := fmt.Errorf("tool %+q of server %q: %w", j.tool, s.config.Name, ErrRedefined)
		return &CallError{Server: s.config.Name, Tool: j.tool, Err: err}
	}
	if agreed, ok := ctx.Value(listKey{}).([]json.RawMessage); ok && !slices.EqualFunc(agreed, tools, same) {
		return &CallError{Server: s.config.Name, Tool: j.tool, Err: ErrRelisted}
	}
	return nil
}

// toolsOf are the tools of a session, as a request is judged by them. A server that has said that they have changed is
// asked for them first.
func (s *server) toolsOf(ctx context.Context, sess *session) (tools []json.RawMessage, err error) {
	tools, changed := sess.tools, false
	s.update(func(st *serverState) {
		if st.live == sess {
			tools, changed = st.tools, st.stale || st.listing != nil
		}
	})
	if changed {
		return s.tools(ctx)
	}
	return tools, nil
}

// repeats is why a call is not sent once more; nil where it may be. A server that has said meanwhile that its tools
// have changed is asked for them.
func (s *server) repeats(ctx context.Context) error {
	if !isJudged(ctx) {
		return nil
	}
	tools, err := s.tools(ctx)
	if err != nil {
		return err
	}
	return s.redefined(ctx, tools)
}

// request sends a request in the live session. None of them changes anything.
func (s *server) request(ctx context.Context, r Request) (json.RawMessage, error) {
	return s.live(ctx, r.method, func(ctx context.Context, sess *session) (json.RawMessage, bool, error) {
		result, err := sess.request(ctx, r)
		return result, true, err
	})
}

// asking asks a session for something; repeatable says whether it may be asked for twice.
type asking func(ctx context.Context, sess *session) (result json.RawMessage, repeatable bool, err error)

// live asks the live session for something. When the session turns out to have ended before it was asked, or while it
// was and that may be repeated, the server is started again for it.
func (s *server) live(ctx context.Context, name string, ask asking) (json.RawMessage, error) {
	var sent error // of what was sent, and nobody knows what came of it
	again := false
	for range 3 { // it may be sent twice, and either session may have ended before
		sess, err := s.acquire(ctx)
		if err == nil && sent != nil && !again {
			err, again = s.pool.opts.Wire.Again(ctx), true
		}
		var call *CallError
		switch {
		case errors.As(sent, &call) && err != nil:
			return nil, call.wrapped(fmt.Errorf("%w; it was not made again: %v", call.Err, err))
		case err != nil:
			return nil, err
		}
		result, repeatable, err := s.askJudged(ctx, sess, ask)
		switch {
		case errors.Is(err, errNotSent):
		case s.isRemote() && isCrash(err) && repeatable && sent == nil:
			sent = err
		default:
			return result, err
		}
		ctx = context.WithValue(ctx, againKey{}, true)
	}
	if sent != nil {
		return nil, sent
	}
	return nil, &CallError{Server: s.config.Name, Tool: name, Crashed: true, Err: errNotSent}
}

// askJudged asks a session that lists what the request goes by.
func (s *server) askJudged(ctx context.Context, sess *session, ask asking) (json.RawMessage, bool, error) {
	if isJudged(ctx) {
		tools, err := s.toolsOf(ctx, sess)
		if err == nil {
			err = s.redefined(ctx, tools)
		}
		if err != nil {
			return nil, false, err
		}
	}
	return ask(ctx, sess)
}

// againKey is of contexts in which something is asked for the second time.
type againKey struct{}

// isCrash says whether the server went away during a call.
func isCrash(err error) bool {
	var call *CallError
	return errors.As(err, &call) && call.Crashed
}
