package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

var errCut = errors.New("the server has broken off telling of this resource's changes")

// The pauses before a server is asked again whose stream breaks off again and again.
const (
	firstRelisten = 100 * time.Millisecond
	lastRelisten  = 10 * time.Second
)

// keepTelling returns when nobody wants to know of a resource any more, and asks the server again whenever its stream
// has broken off: connections of hours do. What it told meanwhile nobody knows, so that all who listen are told of a
// change.
func (sess *session) keepTelling(ctx context.Context, t *topic) {
	for pause := firstRelisten; ; pause = min(2*pause, lastRelisten) {
		began := time.Now()
		select {
		case <-t.left:
			return
		case <-ctx.Done():
			return
		case <-t.cut:
		}
		if time.Since(began) > lastRelisten {
			pause = firstRelisten
		}
		select {
		case <-t.left:
			return
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		sess.stopTelling(t) // for the SDK, which listens to each once
		select {
		case <-t.listen: // of the stream before
		default:
		}
		err := sess.startTelling(ctx, t)
		if ctx.Err() != nil {
			return
		}
		update, _ := json.Marshal(map[string]string{"uri": t.uri}) // which cannot fail
		sess.calls.update(func(*callsState) {
			if err != nil {
				t.ends(fmt.Errorf("%w; asking it again failed: %w", errCut, err))
				return
			}
			for s := range t.subs {
				s.push(update)
			}
		})
		if err != nil {
			return
		}
	}
}

// cutOff is the end of a stream on which a subscriptions/listen was not answered.
func (c *calls) cutOff(id int64) {
	c.update(func(st *callsState) {
		t := st.listening[id]
		if t == nil || st.closed || st.broken {
			return
		}
		delete(st.listening, id)
		select {
		case t.cut <- struct{}{}:
		default:
		}
	})
}

// listens notes which request asks the server to tell of a resource, by the newest revision: the SDK (v1.8.0) hands on
// neither what comes of it nor its end.
func (c *calls) listens(id int64, params []byte) {
	uri := gjson.GetBytes(params, "notifications.resourceSubscriptions.0").String()
	c.update(func(st *callsState) {
		if t := st.topics[uri]; uri != "" && t != nil {
			st.listening[id] = t
		}
	})
}

// acknowledged is what a server says first on a subscriptions/listen.
func (c *calls) acknowledged(params gjson.Result) {
	id := params.Get(`_meta.` + strings.ReplaceAll(mcp.MetaKeySubscriptionID, ".", `\.`)).Int()
	c.update(func(st *callsState) {
		t := st.listening[id]
		if t == nil {
			return
		}
		err := errors.New("the server does not tell of this resource's changes")
		for _, uri := range params.Get("notifications.resourceSubscriptions").Array() {
			if uri.String() == t.uri {
				err = nil
			}
		}
		t.said(err)
	})
}

// said is the answer to a subscriptions/listen, the first one.
func (t *topic) said(err error) {
	select {
	case t.listen <- err:
	default:
	}
}

// unheard is the end of a subscriptions/listen.
func (c *calls) unheard(env envelope) {
	c.update(func(st *callsState) {
		t := st.listening[env.id]
		if t == nil {
			return
		}
		delete(st.listening, env.id)
		over := errors.New("the server has ended the subscription")
		err := over
		if env.err != nil {
			err = wireError(env.err)
			over = fmt.Errorf("%w: %w", over, err)
		}
		t.said(err)
		t.ends(over)
	})
}
