//go:build linux

package container

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"codemode/internal/sandbox"
)

// TestSoak ends many sandboxes in every way there is, at any moment. newRuntime sees what is left.
func TestSoak(t *testing.T) {
	sessions := 100
	if testing.Short() {
		sessions = 12
	}
	gone := errors.New("nobody waits")
	tree := script(stubborn)
	eachEngine(t, func(t *testing.T, r *Runtime) {
		var wg sync.WaitGroup
		turns := make(chan struct{}, 4)
		for i := range sessions {
			turns <- struct{}{}
			wg.Go(func() {
				defer func() { <-turns }()
				ctx, cancel := context.WithCancelCause(context.Background())
				if i%3 == 0 {
					defer time.AfterFunc(time.Duration(rand.IntN(400))*time.Millisecond, func() { cancel(gone) }).Stop()
				}
				defer cancel(nil)
				sb, err := r.Start(ctx, sandbox.Spec{Session: t.Name(), Files: tree, Boot: "boot.py", Policy: sandbox.DefaultPolicy()})
				if err != nil {
					if !errors.Is(err, gone) {
						t.Errorf("session %d: %v", i, err)
					}
					return
				}
				if i%2 == 0 {
					sb.Kill()
					<-sb.Done()
				}
				if err := sb.Close(); err != nil {
					t.Errorf("session %d: closing: %v", i, err)
				}
			})
		}
		wg.Wait()
	})
}
