package escape

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"codemode/internal/sandbox"
)

// Options say how attempts are made.
type Options struct {
	Policy sandbox.Policy
	AtOnce int                // attempts; at least one
	Only   func(Attempt) bool // nil makes all of them
}

// Small is a policy under which attempts to use up memory and disk come to an end soon.
func Small(p sandbox.Policy) sandbox.Policy {
	p.Memory = 192 << 20
	p.TmpSize, p.WorkSize, p.FileSize = 16<<20, 32<<20, 24<<20
	p.Processes = 64
	return p
}

const (
	patience = 30 * time.Second // bounds every wait; nothing comes near it unless it hangs
	clock    = time.Second      // when an attempt is killed that never ends by itself
)

// Run makes every attempt of a guest against a runtime, each in a sandbox of its own. Where decoys were touched, the
// last result says which; an error says why nothing more was tried.
func Run(ctx context.Context, rt sandbox.Runtime, opts Options) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		attempts, known, err := Plan(ctx, rt, InGuest, opts.Policy, opts.Only)
		if err != nil {
			yield(Result{}, err)
			return
		}
		if len(attempts) == 0 {
			return
		}
		d, err := newDecoys()
		if err != nil {
			yield(Result{}, fmt.Errorf("preparing decoys: %w", err))
			return
		}
		defer d.close()
		facts := d.facts(opts.Policy)
		try := func(ctx context.Context, a Attempt) (Verdict, string) { return inGuest(ctx, rt, opts.Policy, a, facts) }
		for r := range Drive(ctx, attempts, opts.AtOnce, try) {
			r.Known = known[r.Name]
			if !yield(r, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Result{}, err)
			return
		}
		if err := d.check(); err != nil {
			yield(touched(err), nil)
		}
	}
}

// Plan is what will be tried of those attempts that are driven in one way, and what of it is known to succeed here.
func Plan(
	ctx context.Context, rt sandbox.Runtime, in string, p sandbox.Policy, only func(Attempt) bool,
) ([]Attempt, map[string]string, error) {
	report, err := rt.Probe(ctx)
	if err != nil {
		return nil, nil, err
	}
	attempts, err := Attempts(in)
	if only != nil {
		attempts = slices.DeleteFunc(attempts, func(a Attempt) bool { return !only(a) })
	}
	return attempts, Known(report, p), err
}

// touched is the result of an attempt that reached a decoy and did not say so.
func touched(err error) Result {
	return Result{
		Attempt: Attempt{
			Name: "decoys", Group: Groups[0], Tries: "to reach what stands outside, and to keep silent about it",
			Must: []Verdict{Held},
		},
		Verdict: Escaped,
		Detail:  err.Error(),
	}
}

// inGuest makes one attempt in a sandbox. What the host saw counts more than what the script says: a guest that was
// killed did not get what it tried to get by staying.
func inGuest(
	ctx context.Context, rt sandbox.Runtime, policy sandbox.Policy, a Attempt, facts string,
) (Verdict, string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sb, err := rt.Start(ctx, sandbox.Spec{
		Session: a.Name,
		Files:   guestFiles(),
		Boot:    "run.py",
		Env:     []string{"CODEMODE_TEST_ATTEMPT=" + a.Group + "/" + a.Name, "CODEMODE_TEST_HOST=" + facts},
		Policy:  policy,
	})
	if err != nil {
		return Broken, fmt.Sprintf("starting: %v", err)
	}
	defer sb.Close()
	wait := patience // for those that end by themselves, however busy the machine
	if slices.Equal(a.Must, []Verdict{Killed}) {
		wait = clock
	}
	timer := time.AfterFunc(wait, sb.Kill)
	defer timer.Stop()
	defer context.AfterFunc(ctx, sb.Kill)()
	report := listen(sb)
	<-sb.Done()
	const sigkill = 9
	e := sb.Exit()
	if e.Signal == sigkill && e.Cause != sandbox.ExitSelf && report.Verdict != Escaped {
		return Killed, describe(e)
	}
	if report.Verdict == "" {
		return Broken, describe(e)
	}
	return report.Verdict, report.Detail
}

// report is what a script says of itself.
type report struct {
	Verdict Verdict
	Detail  string
}

// listen reads the channel to its end. Whatever else than a report an attempt writes there is part of the attempt.
func listen(sb sandbox.Sandbox) (last report) {
	lines := bufio.NewReader(sb.Channel())
	for {
		line, err := lines.ReadSlice('\n')
		if bytes.HasPrefix(line, []byte(`{"verdict"`)) {
			_ = json.Unmarshal(line, &last)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return last
		}
	}
}

func describe(e sandbox.Exit) string {
	return fmt.Sprintf(
		"code %d, signal %d, cause %d, stdout %q, stderr %q", e.Code, e.Signal, e.Cause, e.Stdout, e.Stderr,
	)
}
