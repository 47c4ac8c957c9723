package upstream

import "context"

// Wire is told of what is sent to servers for a call, in the context of that. But for Turn, it must not wait.
type Wire interface {
	// Sent says that a request is on its way: the call itself, with an answer that its server wanted, or a question
	// about its task.
	Sent(ctx context.Context)
	// Unsent says that the server has not taken what was on its way, after all.
	Unsent(ctx context.Context)
	// Refused says that the server has refused the call: until its user has done something, or with its session. It may
	// be made again.
	Refused(ctx context.Context)
	// Again says that the call is about to be made once more; with an error it is not.
	Again(ctx context.Context) error
	// Turn waits until secrets may be looked for in so many bytes of the call, which takes a processor up to a
	// microsecond for each, and is left by done.
	Turn(ctx context.Context, bytes int) (done func())
	// Failure is Turn for an answer that is an error.
	Failure(ctx context.Context, bytes int) (done func())
	// Answered says that so many bytes have been read of an answer, whether or not it can be used.
	Answered(ctx context.Context, bytes int)
}

// untold is the Wire of nobody.
type untold struct{}

func (untold) Sent(context.Context)             {}
func (untold) Unsent(context.Context)           {}
func (untold) Refused(context.Context)          {}
func (untold) Again(context.Context) error      { return nil }
func (untold) Turn(context.Context, int) func() { return func() {} }

func (untold) Failure(context.Context, int) func() { return func() {} }

func (untold) Answered(context.Context, int) {}
