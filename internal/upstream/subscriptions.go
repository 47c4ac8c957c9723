package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

// MethodSubscribe is what asks a server to tell of a resource's changes, in errors, policies and logs: revisions before
// 2026-07-28 have it as a request, that one a subscriptions/listen.
const MethodSubscribe = "resources/subscribe"

// What a subscription keeps until it is read.
const (
	maxUpdates = 100
	maxUpdate  = 16 << 10 // bytes
)

// Subscription brings what a server says of one resource. Its holder closes it.
type Subscription struct {
	calls *calls
	topic *topic
	news  chan struct{} // has room for one token: there is something to read

	mu      sync.Mutex
	updates []json.RawMessage // the oldest first
	dropped int               // before them
	over    error             // why nothing more comes
}

// topic is a resource that a session has subscribed to, for however many. Its goroutine (tend) asks the server, and
// tells it when nobody is left.
type topic struct {
	uri    string
	ready  *future[struct{}] // the server has agreed
	listen chan error        // what came of a subscriptions/listen; it has room for one
	cut    chan struct{}     // its stream has broken off; it has room for one
	left   chan struct{}     // closed when nobody wants it any more
	gone   chan struct{}     // closed when the server has been told
	subs   map[*Subscription]bool
	ended  bool // nobody may join
}

// Subscribe has a server tell of the changes of a resource.
func (p *Pool) Subscribe(ctx context.Context, name, uri string) (*Subscription, error) {
	var sub *Subscription
	_, err := use(p, name, func(s *server) (json.RawMessage, error) {
		ask := func(ctx context.Context, sess *session) (_ json.RawMessage, repeatable bool, err error) {
			sub, err = sess.subscribe(ctx, uri)
			return nil, true, err
		}
		return s.live(ctx, MethodSubscribe, ask)
	})
	return sub, err
}

// Next waits until there are updates, and returns them, the oldest first, and how many before them were dropped because
// nobody had read them in time.
func (s *Subscription) Next(ctx context.Context) (updates []json.RawMessage, dropped int, err error) {
	for {
		s.mu.Lock()
		updates, dropped, err = s.updates, s.dropped, s.over
		s.updates, s.dropped = nil, 0
		s.mu.Unlock()
		if len(updates)+dropped > 0 {
			return updates, dropped, nil
		}
		if err != nil {
			return nil, 0, err
		}
		select {
		case <-s.news:
		case <-s.calls.broken:
			s.end(errConnectionEnded)
		case <-s.calls.done:
			s.end(errConnectionEnded)
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}

var errConnectionEnded = errors.New(
	"the connection to the server has ended, and its subscriptions with it: subscribe again",
)

// Close ends it. It is idempotent, and waits for nothing: that its server is told is the session's to see to.
func (s *Subscription) Close() {
	s.end(errors.New("the subscription was ended"))
	s.calls.update(func(*callsState) { s.topic.leave(s) })
}

// push adds an update; of too many the oldest goes.
func (s *Subscription) push(update json.RawMessage) {
	s.mu.Lock()
	if len(update) > maxUpdate || s.over != nil {
		s.dropped++
	} else {
		s.updates = append(s.updates, update)
	}
	if len(s.updates) > maxUpdates {
		s.updates = s.updates[1:]
		s.dropped++
	}
	s.mu.Unlock()
	s.wake()
}

func (s *Subscription) end(why error) {
	s.mu.Lock()
	if s.over == nil {
		s.over = why
	}
	s.mu.Unlock()
	s.wake()
}

func (s *Subscription) wake() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// leave is called in update.
func (t *topic) leave(s *Subscription) {
	if delete(t.subs, s); len(t.subs) == 0 && !t.ended {
		t.ended = true
		close(t.left)
	}
}

// ends is called in update: the server has ended it.
func (t *topic) ends(why error) {
	for s := range t.subs {
		s.end(why)
		t.leave(s)
	}
}

// subscribe joins those who have subscribed to a resource, or is the first.
func (sess *session) subscribe(ctx context.Context, uri string) (*Subscription, error) {
	name := sess.server.config.Name
	if init := sess.client.InitializeResult(); init == nil || init.Capabilities == nil ||
		init.Capabilities.Resources == nil || !init.Capabilities.Resources.Subscribe {
		return nil, sess.callError(ctx, MethodSubscribe, fmt.Errorf(
			"server %q does not tell of changes of its resources: read them again instead", name))
	}
	for {
		sub, ending := sess.join(ctx, uri)
		switch {
		case sub == nil && ending == nil:
			return nil, sess.notSent(ctx)
		case sub == nil:
			select {
			case <-ending:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		if _, err := sub.topic.ready.wait(ctx); err != nil {
			sub.Close()
			if errors.Is(err, errNotSent) {
				err = sess.notSent(ctx)
			}
			return nil, err
		}
		return sub, nil
	}
}

// notSent is what a request comes to whose session is over, when its server has seen to that.
func (sess *session) notSent(ctx context.Context) error {
	select {
	case <-sess.ended:
		return errNotSent
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// join adds a subscription to its topic. There is none while the topic's last one is being ended, until ending is
// closed, and when the session is over.
func (sess *session) join(ctx context.Context, uri string) (sub *Subscription, ending <-chan struct{}) {
	c := sess.calls
	c.update(func(st *callsState) {
		t := st.topics[uri]
		switch {
		case st.finished || st.broken:
			return
		case t != nil && t.ended:
			ending = t.gone
			return
		case t == nil:
			t = &topic{
				uri: uri, ready: newFuture[struct{}](), listen: make(chan error, 1), cut: make(chan struct{}, 1),
				left: make(chan struct{}), gone: make(chan struct{}), subs: map[*Subscription]bool{},
			}
			st.topics[uri] = t
			c.work.Go(func() { sess.tend(context.WithoutCancel(ctx), t) })
		}
		sub = &Subscription{calls: c, topic: t, news: make(chan struct{}, 1)}
		t.subs[sub] = true
	})
	return sub, ending
}

// tend is the life of a topic.
func (sess *session) tend(ctx context.Context, t *topic) {
	c := sess.calls
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(errNotSent) })()
	defer close(t.gone)
	defer c.update(func(st *callsState) {
		delete(st.topics, t.uri)
		for id, of := range st.listening {
			if of == t {
				delete(st.listening, id)
			}
		}
	})
	err := sess.startTelling(ctx, t)
	if err != nil {
		c.update(func(*callsState) {
			t.ended = true
			clear(t.subs)
		})
	}
	t.ready.resolve(struct{}{}, err)
	if err == nil {
		sess.keepTelling(ctx, t)
	}
	if c.life.Err() == nil && (err == nil || sess.speaksNewest()) { // of which the SDK keeps a refused one, too
		sess.stopTelling(t)
	}
}

// stopTelling tells the server that nobody is left.
func (sess *session) stopTelling(t *topic) {
	ctx, cancel := context.WithTimeout(sess.calls.life, stopGrace)
	defer cancel()
	if err := sess.client.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: t.uri}); err != nil {
		sess.server.log.Debug("unsubscribing", "error", sess.secrets.redactor().Error(plainly(err)))
	}
}

// startTelling has the server agree.
func (sess *session) startTelling(ctx context.Context, t *topic) error {
	sess.secrets.sends(t.uri, nil)
	what := fmt.Sprintf("%s of server %q", MethodSubscribe, sess.server.config.Name)
	params := &mcp.SubscribeParams{URI: t.uri}
	if !sess.speaksNewest() {
		_, err := sess.ask(ctx, MethodSubscribe, what, func(ctx context.Context, meta mcp.Meta, _ given) error {
			delete(meta, "progressToken")
			params.Meta = meta
			return sess.client.Subscribe(ctx, params)
		})
		return err
	}
	limit := cmp.Or(sess.server.config.CallTime, sess.server.pool.opts.CallTimeout)
	ctx, cancel := withLimit(ctx, what, limit)
	defer cancel()
	if err := sess.client.Subscribe(ctx, params); err != nil {
		return sess.callError(ctx, MethodSubscribe, plainly(err))
	}
	select {
	case err := <-t.listen:
		if err != nil {
			return sess.callError(ctx, MethodSubscribe, err)
		}
		return nil
	case <-t.cut:
		return sess.callError(ctx, MethodSubscribe, errCut)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// updated hands an update to who has subscribed to the resource, or to one that it is a part of: "this might be a
// sub-resource of the one that the client actually subscribed to"
// (https://modelcontextprotocol.io/specification/2025-11-25/schema, read November 2026).
func (c *calls) updated(params gjson.Result) {
	uri := params.Get("uri").String()
	if uri == "" {
		return
	}
	c.update(func(st *callsState) {
		for _, t := range st.topics {
			rest, within := strings.CutPrefix(uri, t.uri)
			if within && (rest == "" || strings.HasSuffix(t.uri, "/") || strings.ContainsRune("/?#", rune(rest[0]))) {
				for s := range t.subs {
					s.push(json.RawMessage(params.Raw))
				}
			}
		}
	})
}

// heard deals with what a message says of subscriptions, and returns whether that is all that it is.
func (c *calls) heard(env envelope, text []byte) bool {
	switch env.method {
	case "notifications/resources/updated":
		c.updated(gjson.GetBytes(text, "params"))
		return true
	case "notifications/subscriptions/acknowledged":
		c.acknowledged(gjson.GetBytes(text, "params"))
	case "":
		c.unheard(env)
	}
	return false
}

// listensBy is listens, of a message.
func (c *calls) listensBy(req *jsonrpc.Request) {
	if id, ok := req.ID.Raw().(int64); ok && req.Method == methodListen {
		c.listens(id, req.Params)
	}
}

const methodListen = "subscriptions/listen"
