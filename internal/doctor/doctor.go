// Package doctor proves that codemode works here: it runs guests that try what a sandbox must refuse, starts servers
// and AI clients' entries as they are configured, and reads back what codemode keeps.
//
// It owns the checks, their words and the redaction of a report. It prints nothing, decides nothing about exit codes,
// and changes nothing but by what is called a repair. Every check ends what it has started before it returns; the
// runtimes and the bridge it is given belong to the caller.
package doctor

import (
	"context"
	"sync"
)

// A Verdict is what came of one thing that was examined.
type Verdict string

// The verdicts. Failed is what keeps codemode, or something the user has configured, from working.
const (
	OK      Verdict = "ok"
	Warning Verdict = "warning"
	Failed  Verdict = "failed"
	Skipped Verdict = "skipped" // not installed, not requested, or pointless after another failure
)

// A Finding is one line of the doctor's.
type Finding struct {
	Check   string   `json:"check"`
	Subject string   `json:"subject,omitempty"` // which of several: a runtime, a server, a client
	Verdict Verdict  `json:"status"`
	Summary string   `json:"summary"`
	Details []string `json:"details,omitempty"`
	Remedy  []string `json:"remedy,omitempty"` // what to do, each a sentence or a command
}

// A Check examines one thing, or several of a kind.
type Check struct {
	Name    string // never changes: it is in the JSON
	Proves  string // what is so afterwards, to follow "proving"
	Examine func(ctx context.Context, found func(Finding))
}

// manyFindings is more than a check has before those before it are told. One with more waits.
const manyFindings = 64

// Run examines everything side by side and tells what is found in the order of the checks, each finding as soon as
// those before it are told. waiting is told whose turn it is. When ctx ends, nothing more is told.
func Run(ctx context.Context, checks []Check, waiting func(Check), tell func(Finding)) {
	queues := make([]chan Finding, len(checks))
	var work sync.WaitGroup
	for i, c := range checks {
		queues[i] = make(chan Finding, manyFindings)
		work.Go(func() {
			defer close(queues[i])
			c.Examine(ctx, func(f Finding) {
				if f.Check == "" {
					f.Check = c.Name
				}
				select {
				case queues[i] <- f:
				case <-ctx.Done():
				}
			})
		})
	}
	for i, queue := range queues {
		if ctx.Err() == nil {
			waiting(checks[i])
		}
		for f := range queue {
			if ctx.Err() == nil {
				tell(f)
			}
		}
	}
	work.Wait()
}

// Summary counts findings.
type Summary struct {
	OK       int `json:"ok"`
	Warnings int `json:"warnings"`
	Failed   int `json:"failed"`
	Skipped  int `json:"skipped"`
}

// Count summarizes.
func Count(findings []Finding) (s Summary) {
	for _, f := range findings {
		switch f.Verdict {
		case OK:
			s.OK++
		case Warning:
			s.Warnings++
		case Failed:
			s.Failed++
		case Skipped:
			s.Skipped++
		}
	}
	return s
}

// Fails is a check whose outcome is known.
func Fails(name string, err error, remedy func(error) []string) Check {
	return Check{Name: name, Proves: "that there is one", Examine: func(_ context.Context, found func(Finding)) {
		found(Finding{Verdict: Failed, Summary: err.Error(), Remedy: remedy(err)})
	}}
}
