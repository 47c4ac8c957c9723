package upstream

import (
	"context"
	"io"
	"net/http"
	"time"
)

// endTime is how long a stream has to end when the answer for which it was there has come.
const endTime = time.Second

// outlive gives a request more time than its call, whose context is over as soon as there is an answer: a connection
// whose stream has not been read to its end cannot be used again. done is called when nothing is read any more.
func (r *remote) outlive(req *http.Request, s *slot) (outlives *http.Request, done func()) {
	call := req.Context()
	if s == nil || r.life == nil {
		return req, func() {}
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(call))
	left := context.AfterFunc(call, func() {
		if s.answered.Load() {
			time.AfterFunc(endTime, func() { cancel(context.Cause(call)) })
		} else {
			cancel(context.Cause(call))
		}
	})
	ended := context.AfterFunc(r.life, func() { cancel(context.Cause(r.life)) })
	return req.WithContext(ctx), func() {
		left()
		ended()
		cancel(nil)
	}
}

// outlivedBody is what such a request is answered with.
type outlivedBody struct {
	io.ReadCloser
	done func()
}

func (b *outlivedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
