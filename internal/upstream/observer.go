package upstream

import (
	"context"
	"time"
)

// An Observer is told of the starts of servers' processes.
type Observer interface {
	// Starting is told that a process is to be started, in the context of the call that needs it.
	Starting(ctx context.Context, server string) Start

	// Waiting is told of a wait for a start, in the context of the call that waits, with the limit of that start. over
	// is called at its end.
	Waiting(ctx context.Context, server string, limit time.Duration) (over func())
}

// A Start is told what came of one: that it failed, or that the server is ready and, later, that its process has ended.
type Start interface {
	Failed(err error)
	Ready()
	Ended()
}

// unobserved is the Observer where none is set.
type unobserved struct{}

func (unobserved) Starting(context.Context, string) Start { return unobserved{} }

func (unobserved) Waiting(context.Context, string, time.Duration) (over func()) { return func() {} }

func (unobserved) Failed(error) {}
func (unobserved) Ready()       {}
func (unobserved) Ended()       {}
