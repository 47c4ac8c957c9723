package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// tools returns the tools of the live session, as they are now or later.
func (s *server) tools(ctx context.Context) ([]json.RawMessage, error) {
	tools, current, err := s.toolsSince(ctx)
	if err == nil && !current {
		tools, _, err = s.toolsSince(ctx) // of a listing that began after the change
	}
	return tools, err
}

// toolsSince is tools, but for a listing that had begun before the last change; current is false then.
func (s *server) toolsSince(ctx context.Context) (tools []json.RawMessage, current bool, err error) {
	sess, err := s.acquire(ctx)
	if err != nil {
		return nil, false, err
	}
	var listing *future[[]json.RawMessage]
	current = true
	s.update(func(st *serverState) {
		switch {
		case st.listing != nil:
			listing, current = st.listing, !st.stale || !st.asked
		case st.live != sess: // it has ended since; what it had is still the best answer
			tools = sess.tools
		case !st.stale || st.retired != nil:
			tools = st.tools
		default:
			st.asked, st.listing = false, newFuture[[]json.RawMessage]()
			listing = st.listing
			s.pool.work.Go(func() { s.list(sess, listing) })
		}
	})
	if listing != nil {
		tools, err = listing.wait(ctx)
	}
	return tools, current, err
}

// list lists the tools of a live session again, at the server's pace if it was the server that said so.
func (s *server) list(sess *session, listing *future[[]json.RawMessage]) {
	var changed bool
	s.update(func(st *serverState) { changed = st.changed })
	if changed {
		_ = s.changes.Wait(sess.calls.pace.ctx, changePause) // a session that has ended says so itself
	}
	s.update(func(st *serverState) {
		st.stale, st.changed, st.asked = false, false, true // a change from now on makes it so again
	})
	ctx, cancel := withLimit(s.ctx, "tools/list", s.pool.opts.StartTimeout)
	defer cancel()
	tools, size, err := sess.listTools(ctx)
	if changed {
		s.changes.Count(ChangePerByte * time.Duration(size))
	}
	if err != nil {
		if sess.calls.isLost() {
			<-sess.ended // run sees to it
			err = fmt.Errorf("the server ended: %w", sess.end)
		}
		err = sess.startError(ctx, "tools/list", err)
	}
	s.update(func(st *serverState) {
		st.listing = nil
		switch {
		case err != nil:
			st.stale, st.changed = true, st.changed || changed
		case st.live == sess:
			st.tools = tools
		}
	})
	listing.resolve(tools, err)
}

// toolsChanged is called when the server says that its tools have changed.
func (s *server) toolsChanged() {
	s.update(func(st *serverState) {
		st.stale, st.changed = true, true
		if st.live != nil { // nobody has seen the tools of one that still starts
			s.announce(st)
		}
	})
}

// The guest of every session takes a server's tools in anew each time that OnToolsChanged is called, and for the time
// that codemode has work with a long list, others wait. So there is a pause between two calls, or a longer one for a
// list of many bytes: a hundred times as long as the work takes, so that of what others do, little meets it. Whoever
// needs the tools of a server that has said meanwhile that they have changed waits for it, too.
const changePause = 2 * time.Second

// ChangePerByte is the longer pause, for each byte of the list.
const ChangePerByte = 6 * time.Microsecond

// announce has OnToolsChanged called; of a server that floods us with changes, now and then. It is called in update.
func (s *server) announce(st *serverState) {
	if s.pool.opts.OnToolsChanged == nil || st.retired != nil {
		return
	}
	st.notify = true
	if !st.notifying {
		st.notifying = true
		s.pool.work.Go(s.notifyAll)
	}
}

func (s *server) notifyAll() {
	for {
		var more bool
		s.update(func(st *serverState) {
			more = st.notify
			st.notify, st.notifying = false, more
		})
		if !more {
			return
		}
		s.pool.opts.OnToolsChanged(s.config.Name)
		select {
		case <-time.After(changePause):
			_ = s.changes.Wait(s.ctx, 0) // the next round says that it has ended
		case <-s.ctx.Done():
		}
	}
}
