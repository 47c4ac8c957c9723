package upstream

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"codemode/internal/fair"
)

const (
	smallMessage   = 1 << 20 // bytes of a message that need no room
	messagesAtOnce = 3       // of the largest ones
)

// longestMessage is from the first MiB of a message to its end, while others wait.
var longestMessage = fair.Limit{Longest: 30 * time.Second, Shortest: 3 * time.Second}

// rooms is what servers' large messages hold of memory while they are read: one budget, in bytes, of all servers of a
// pool. A message whose length is not known counts as the largest. One that finds no room is left with its server.
type rooms struct {
	budget  *fair.Budget
	limit   int // bytes of one message
	longest fair.Limit
}

func newRooms(limit int) *rooms {
	return &rooms{fair.NewBudget(messagesAtOnce * limit), limit, longestMessage}
}

// room is that of a message which is being read, and of those after it. It belongs to who reads them, but close may be
// called at any time. A nil one is as large as need be.
type room struct {
	rooms  *rooms
	server string
	ctx    context.Context
	giveUp func(error) // has the reading end; it must not wait for that

	mu     sync.Mutex
	share  *fair.Share // nil while the message is small
	closed bool
	why    error // the message has been given up
}

// room is for messages of the server that are read until the context ends.
func (c *calls) room(ctx context.Context, giveUp func(error)) *room {
	return &room{rooms: c.rooms, server: c.server, ctx: ctx, giveUp: giveUp}
}

// grow waits until a message may be longer than a small one. length is that of all of it, or not known where it is none
// that a message can have. An error is that of the context, or that it was closed.
func (r *room) grow(length int) error {
	if r == nil || r.current() != nil {
		return nil
	}
	if length <= 0 || length > r.rooms.limit {
		length = r.rooms.limit
	}
	share, err := r.rooms.budget.Take(r.ctx, r.server, length)
	if err != nil {
		return err
	}
	began := time.Now()
	share.Limit(r.rooms.longest, func() {
		err := fmt.Errorf("a message of more than %d bytes had not come to its end after %v, while other servers' "+
			"waited to be read, so it was given up", smallMessage, time.Since(began).Round(time.Second))
		r.mu.Lock()
		r.why = err
		r.mu.Unlock()
		r.giveUp(err)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		share.Leave()
		return io.ErrClosedPipe
	}
	r.share = share
	return nil
}

func (r *room) current() *fair.Share {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.share
}

// gaveUp says why the message was given up, if it was, once.
func (r *room) gaveUp() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	why := r.why
	r.why = nil
	return why
}

// whole says that the message has been read.
func (r *room) whole() {
	if r != nil {
		r.current().Limit(fair.Limit{}, nil)
	}
}

// leave says that the message is no longer held here.
func (r *room) leave() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.share.Leave()
	r.share = nil
}

// close says that nothing more is read.
func (r *room) close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.leave()
}
