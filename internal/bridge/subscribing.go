package bridge

import (
	"context"
	"encoding/json"
	"fmt"

	"codemode/internal/guest"
	"codemode/internal/upstream"
)

const (
	maxSubscriptions = 64      // of a run
	maxURI           = 4 << 10 // bytes
)

// subscribe has a server tell the run under way of the changes of a resource. It is judged, counted and logged as a
// call.
func (l *live) subscribe(ctx context.Context, t *task, m guest.Message) (json.RawMessage, *refusal) {
	var q guest.Subscribe
	if err := json.Unmarshal(m.Params, &q); err != nil {
		return nil, refuse(-32602, "subscribe: "+err.Error(), guest.ErrorData{})
	}
	switch {
	case len(q.Server) > maxAskedName:
		return nil, tooLong("subscribe", "server's name", q.Server, maxAskedName)
	case len(q.URI) > maxURI:
		return nil, tooLong("subscribe", "URI", q.URI, maxURI)
	case q.URI == "":
		return nil, refuse(-32602, "subscribe: the URI is missing", guest.ErrorData{})
	}
	arguments, err := json.Marshal(map[string]string{"uri": q.URI})
	if err == nil {
		arguments, err = guest.Canonical(arguments)
	}
	if err != nil {
		return nil, refuse(-32602, "subscribe: "+err.Error(), guest.ErrorData{})
	}
	r := l.currentRun()
	c := guest.ToolCall{Server: q.Server, Tool: upstream.MethodSubscribe, Arguments: arguments}
	p, no := l.admitRequest(ctx, c, func(ctx context.Context) (json.RawMessage, error) {
		sub, err := l.bridge.pool.Subscribe(ctx, c.Server, q.URI)
		if err != nil {
			return nil, err
		}
		return r.subscribed(m.ID, sub)
	})
	return l.perform(ctx, t, c, p, no)
}

// subscribed keeps a subscription until the run ends.
func (r *run) subscribed(id int64, sub *upstream.Subscription) (json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.subscriptions == nil:
		sub.Close()
		return nil, errRunOver
	case len(r.subscriptions) >= maxSubscriptions:
		sub.Close()
		return nil, fmt.Errorf("the run has %d subscriptions: end one of them first", maxSubscriptions)
	}
	r.subscriptions[id] = sub
	return json.Marshal(guest.Subscribed{Subscription: id})
}

// unsubscribe ends the subscriptions of a run, when that ends.
func (r *run) unsubscribe() {
	r.mu.Lock()
	subs := r.subscriptions
	r.subscriptions = nil
	r.mu.Unlock()
	for _, sub := range subs {
		sub.Close()
	}
}

// updates answers with what a subscription has brought, when that is anything.
func (l *live) updates(ctx context.Context, t *task, m guest.Message) (json.RawMessage, *refusal) {
	var q guest.UpdatesQuery
	if err := json.Unmarshal(m.Params, &q); err != nil {
		return nil, refuse(-32602, "updates: "+err.Error(), guest.ErrorData{})
	}
	var sub *upstream.Subscription
	if r := l.currentRun(); r != nil {
		r.mu.Lock()
		sub = r.subscriptions[q.Subscription]
		if q.End {
			delete(r.subscriptions, q.Subscription)
		}
		r.mu.Unlock()
	}
	switch {
	case sub == nil && q.End:
		return json.RawMessage(`{}`), nil
	case sub == nil:
		return nil, refuse(guest.CodeUnavailable, "the subscription has ended with its run", guest.ErrorData{})
	case q.End:
		sub.Close()
		return json.RawMessage(`{}`), nil
	}
	updates, dropped, err := sub.Next(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, cancelled(causeOf(ctx, err))
	} else if err != nil {
		return nil, refuse(guest.CodeUnavailable, err.Error(), guest.ErrorData{})
	}
	return l.respondOwn(ctx, t, func() any { return guest.Updates{Updates: updates, Dropped: dropped} })
}
