package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"codemode/internal/guest"
)

// read reads the guest's channel, which one goroutine at a time does. What is to be done for a request that comes alone
// it does itself, while another reads on.
func (l *live) read() {
	for {
		work, err := l.next()
		switch {
		case err != nil:
			l.lost(err)
			return
		case work == nil:
		case l.workers.readOn(l.read):
			work()
			return
		default:
			l.workers.submit(l.ctx, work)
		}
	}
}

// next reads a message, and returns what is still to be done for it.
func (l *live) next() (work func(), err error) {
	m, err := l.conn.Read()
	if err == nil && l.pace.keep(l.ctx, m, l.bridge.readings.runs.Users()) != nil {
		err = io.EOF // the guest is being ended
	}
	if err == nil {
		work, err = l.handle(m)
	}
	l.large.leave()
	l.large = nil
	return work, err
}

// lost ends a guest of which nothing more is read.
func (l *live) lost(err error) {
	defer close(l.gone)
	if !errors.Is(err, io.EOF) && l.ctx.Err() == nil {
		l.broke(err)
	}
	if errors.Is(err, io.EOF) {
		l.awaitDeath()
	}
	l.end(errRunOver)
	l.box.Kill() // also when it only closed its end: nobody can talk to it any more
}

// broke keeps how the guest broke the protocol.
func (l *live) broke(err error) {
	l.mu.Lock()
	l.broken = err
	l.mu.Unlock()
	l.bridge.log.WarnContext(l.callContext(), "guest broke the protocol", "error", err)
}

// beginLarge waits until a message that turns out to be large may be read. Once its run is over it is not wanted any
// more, but for an answer: a guest that cannot send the rest could not say that it has stopped.
func (l *live) beginLarge(answer bool) (err error) {
	ctx := l.callContext()
	if answer {
		ctx = l.ctx
	}
	l.large, err = l.bridge.readings.begin(ctx, l.session, func(err error) {
		l.broke(err)
		l.kill(err)
	})
	if err != nil && l.ctx.Err() == nil {
		return guest.ErrUnwanted
	}
	return err
}

// awaitDeath gives a guest whose channel has ended the time to tell how it ended, for Kill would be the answer after
// it.
func (l *live) awaitDeath() {
	select {
	case <-l.box.Done():
	case <-l.ctx.Done():
	case <-time.After(endTimeout):
	}
}

// handle takes one message of the guest's. Its methods are those of route (dispatch.go); a request with any other is a
// protocol error. An error ends the guest. It returns what is still to be done for the message.
func (l *live) handle(m guest.Message) (work func(), err error) {
	if m.Unread {
		return func() { _ = l.respond(m.ID, nil, cancelled(errRunOver)) }, nil
	}
	if m.Method == "" {
		return nil, l.deliver(m)
	}
	switch m.Method {
	case guest.MethodOutput:
		return nil, l.output(m.Params)
	case guest.MethodDisplay:
		return nil, l.display(m.Params)
	case guest.MethodCancel:
		var c guest.Cancel
		if json.Unmarshal(m.Params, &c) == nil {
			l.cancel(c.ID)
		}
		return nil, nil
	case guest.MethodToolCall,
		guest.MethodRequest,
		guest.MethodSubscribe,
		guest.MethodUpdates,
		guest.MethodServers,
		guest.MethodServer,
		guest.MethodSearch,
		guest.MethodStdin,
		guest.MethodSave,
		guest.MethodAddServer,
		guest.MethodPackages,
		guest.MethodSaved,
		guest.MethodArtifacts:
		return l.serve(m)
	}
	if m.IsRequest() {
		return nil, fmt.Errorf("%w: unknown request %.60q", guest.ErrProtocol, m.Method)
	}
	return nil, nil // an unknown notification is ignored
}

// longText is the size from which decoding takes a processor longer than the fair queue for it does.
const longText = 64 << 10

// decode enters the fair queue for decoding so many bytes, where they are many: it leaves one processor to all else.
// The caller must not block until it has called done.
func (l *live) decode(size int) (done func()) {
	if size <= longText {
		return func() {}
	}
	t := l.bridge.decoding.Join(l.session, 1)
	_ = t.Wait(l.ctx) // who is ending need not wait
	return t.Leave
}

// countedText is the size from which the time counts that decoding takes: small members take many times as long as the
// estimate for their bytes.
const countedText = 4 << 10

// afterDecoding is how often that time counts: what becomes of such a message, at a server above all, takes as long
// again and longer.
const afterDecoding = 4

// parse is decode for what the guest has sent: what it takes counts for its next messages, of a large one for the next
// large one.
func (l *live) parse(size int) (done func()) {
	decoded := l.decode(size)
	began := time.Now()
	return func() {
		decoded()
		switch took := time.Since(began); {
		case size >= largeCall:
			l.bridge.readings.took(l.session, took)
		case size > countedText:
			l.took(afterDecoding * took)
		}
	}
}

// parseLine is parse for the reader, whose line is whole.
func (l *live) parseLine(size int) (done func()) {
	l.large.whole(size)
	return l.parse(size)
}

// deliver delivers the guest's answer to one of our requests.
func (l *live) deliver(m guest.Message) error {
	l.mu.Lock()
	answer, ok := l.pending[m.ID]
	delete(l.pending, m.ID)
	l.mu.Unlock()
	if !ok {
		return fmt.Errorf("%w: an answer to request %d, which nobody made", guest.ErrProtocol, m.ID)
	}
	answer <- m
	return nil
}

// serve lets in a request of the guest's, and returns what answers it.
func (l *live) serve(m guest.Message) (answer func(), err error) {
	size := len(m.Params)
	if answersItself(m) {
		size += answerRoom
	}
	if err := l.gate.enter(l.ctx, size); err != nil {
		return nil, io.EOF // the guest is being ended
	}
	ctx, cancel := context.WithCancelCause(l.callContext())
	l.mu.Lock()
	_, twice := l.calls[m.ID]
	l.calls[m.ID] = cancel
	run, alone := l.run, len(l.calls) == 1
	l.mu.Unlock()
	if twice {
		cancel(nil)
		l.gate.leave(size)
		return nil, fmt.Errorf("%w: request id %d twice", guest.ErrProtocol, m.ID)
	}
	if run != nil {
		run.placement.call(alone && l.bridge.readings.runs.Users() == 1)
	}
	large := l.large // it is the worker's from here on
	l.large = nil
	large.workedOn(cancel)
	return func() {
		defer large.leave()
		defer l.gate.leave(size)
		defer cancel(nil)
		var result json.RawMessage
		var no *refusal
		task, err := l.backlog.begin(ctx)
		if err != nil {
			no = cancelled(err)
		} else {
			defer task.end()
			result, no = l.dispatch(ctx, task, m)
		}
		l.mu.Lock()
		delete(l.calls, m.ID)
		l.mu.Unlock()
		if err := l.respond(m.ID, result, no); err != nil && l.ctx.Err() == nil {
			l.bridge.log.DebugContext(ctx, "answering the guest", "error", err)
		}
		if task != nil && task.recording != nil {
			task.recording.flushRecords()
		}
	}, nil
}
