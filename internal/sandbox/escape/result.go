package escape

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
)

// Result is how one attempt went on one runtime.
type Result struct {
	Attempt
	Verdict Verdict
	Detail  string
	Known   string // why it is known to succeed on this runtime; empty where it must not
	Took    time.Duration
}

// Err says what is wrong with a result: nil for an attempt that ended as it must, or that is known to succeed here.
// One that is known to succeed and did not is wrong as well, so that what is known stays true.
func (r Result) Err() error {
	asItMust := slices.Contains(r.Must, r.Verdict)
	switch {
	case r.Known != "" && asItMust:
		return fmt.Errorf("%s: %s, though it is known that %s: %s", r.Name, r.Verdict, r.Known, r.Detail)
	case r.Known == "" && !asItMust:
		return fmt.Errorf("%s: %s, must be %s: %s (it tries %s)", r.Name, r.Verdict, list(r.Must), r.Detail, r.Tries)
	}
	return nil
}

// maxDetail is how much of what an attempt says, or prints, is kept of it, in bytes.
const maxDetail = 1 << 10

func brief(detail string) string {
	if len(detail) <= maxDetail {
		return detail
	}
	return strings.ToValidUTF8(detail[:maxDetail], "") + " …"
}

func list(verdicts []Verdict) string {
	text := string(verdicts[0])
	for _, v := range verdicts[1:] {
		text += " or " + string(v)
	}
	return text
}

// Drive makes attempts, some at once, and yields each result as it comes. A consumer that stops iterating ends
// those under way; when Drive returns, all have ended.
func Drive(
	ctx context.Context, attempts []Attempt, atOnce int, try func(context.Context, Attempt) (Verdict, string),
) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		todo, done := make(chan Attempt), make(chan Result)
		var work sync.WaitGroup
		for range max(atOnce, 1) {
			work.Go(func() {
				for a := range todo {
					begin := time.Now()
					verdict, detail := try(ctx, a)
					done <- Result{Attempt: a, Verdict: verdict, Detail: brief(detail), Took: time.Since(begin)}
				}
			})
		}
		go func() {
			defer close(done)
			defer work.Wait()
			defer close(todo)
			for _, a := range attempts {
				select {
				case todo <- a:
				case <-ctx.Done():
					return
				}
			}
		}()
		defer func() {
			cancel()
			for range done { // until the last has ended
			}
		}()
		for r := range done {
			if ctx.Err() != nil || !yield(r) {
				return
			}
		}
	}
}
