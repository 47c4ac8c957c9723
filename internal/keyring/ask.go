package keyring

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zalando/go-keyring"
)

const (
	patience = 30 * time.Second       // with a keyring, which may be asking its user for a password
	told     = 300 * time.Millisecond // after which its user is told what is waited for
	again    = time.Minute            // after which a keyring is asked anew that has used up our patience
	farewell = time.Second            // with what is under way when nobody waits for it any more
)

var errSlow = fmt.Errorf("it has not answered within %v", patience)

var (
	known  sync.Map                  // keys by name: [Ring.fetch]
	turn   = make(chan bool, 1)      // who holds it may ask the keyring
	silent atomic.Pointer[time.Time] // when a keyring was last given up
)

// ask asks the keyring, which knows no context (go-keyring v0.2.8), and gives it up when it does not answer. Where the
// system allows, what asks it ends then, too; on macOS a command of the system's goes on until its user has answered.
func (r *Ring) ask(ctx context.Context, op func() error) error {
	select {
	case turn <- true:
		defer func() { <-turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if at := silent.Load(); at != nil && time.Since(*at) < again {
		return &AbsentError{errSlow}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	if r != nil && r.Slow != nil {
		defer time.AfterFunc(told, r.Slow).Stop()
	}
	var reached atomic.Bool
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if p := recover(); p != nil { // go-keyring takes what is said over D-Bus for what it should be
				err = errors.New("it has answered what no keyring should")
			}
			done <- err
		}()
		if err = reachable(ctx); err == nil {
			reached.Store(true)
			err = op()
			disconnect()
		}
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = context.Cause(ctx)
		if reached.Load() {
			go disconnect() // ends what is under way
		}
		select {
		case <-done:
		case <-time.After(farewell):
		}
	}
	switch {
	case err == nil, errors.Is(err, keyring.ErrNotFound), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, errSlow):
		now := time.Now()
		silent.Store(&now)
	}
	return &AbsentError{err}
}
