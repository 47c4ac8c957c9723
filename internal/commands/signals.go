package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// endSignals ask a program to end. On Windows only the first is ever sent.
// Without SIGQUIT here, Ctrl-\ would make the Go runtime print all its goroutines.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// heeded are those of them that a program in a script ends by: what it was started to ignore, as by nohup(1) or behind
// an &, python3 ignores, too.
func heeded() []os.Signal { return slices.DeleteFunc(slices.Clone(endSignals), signal.Ignored) }

// ignoreBrokenPipe makes a write to a stdout nobody reads an error, where the Go runtime would end the
// process before it has closed anything. Signals that are caught, unlike ignored ones, are not inherited
// by the programs we start.
func ignoreBrokenPipe() (stop func()) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	return func() { signal.Stop(pipe) }
}

// watching counts who watches for signals.
var watching atomic.Int32

// endQuietly ends the program by a signal that Go would print its goroutines for, while nobody watches for it, as at
// many a question.
func endQuietly() (stop func()) {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	go func() {
		for range quit {
			if watching.Load() == 0 {
				os.Exit(exitSignal + int(syscall.SIGQUIT))
			}
		}
	}()
	return func() { signal.Stop(quit); close(quit) }
}

// signalled is why a run was cancelled.
type signalled struct{ number syscall.Signal }

func (s *signalled) Error() string { return fmt.Sprintf("signal %d (%v)", int(s.number), s.number) }

// interruptible is a context that a signal which asks the program to end cancels. See interrupted.
func interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unwatch := watchSignals(endSignals, func(s *signalled) { cancel(s) }, func() {})
	return ctx, func() { unwatch(); cancel(nil) }
}

// interrupted is how the program ends where a signal has cancelled ctx, and nil where none has.
func interrupted(ctx context.Context) error {
	if s, ok := errors.AsType[*signalled](context.Cause(ctx)); ok {
		return exit(exitSignal + int(s.number))
	}
	return nil
}

// watchSignals calls first at the first of these signals and second at every later one. stop waits until neither is
// being called.
func watchSignals(signals []os.Signal, first func(*signalled), second func()) (stop func()) {
	received := make(chan os.Signal, 2)
	signal.Notify(received, signals...)
	watching.Add(1)
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case s := <-received:
				number, _ := s.(syscall.Signal)
				if n == 0 {
					first(&signalled{number})
				} else {
					second()
				}
			}
		}
	})
	return func() {
		signal.Stop(received)
		watching.Add(-1)
		cancel()
		work.Wait()
	}
}
