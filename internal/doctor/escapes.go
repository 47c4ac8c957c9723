package doctor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"

	"codemode/internal/bridge/hostile"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/escape"
)

// An End is how an attempt to escape ended, as its reader should take it.
type End string

// The ends. Only Escaped says that a restriction is missing.
const (
	Held     End = "held"     // refused or contained
	Measured End = "measured" // it succeeds, and is harmless
	Known    End = "known"    // it succeeds on this runtime, and docs/security.md says so
	GotOut   End = "escaped"
	NotBegun End = "broken" // it could not be made: the machine lacks something, or is too busy
)

// Ends are all of them, as people should read of them.
var Ends = []End{Held, Measured, Known, GotOut, NotBegun}

// An Escape is one attempt to escape that was made.
type Escape struct {
	Runtime string         `json:"runtime"`
	Group   string         `json:"group"`
	Name    string         `json:"name"`
	Tries   string         `json:"tries"`
	End     End            `json:"end"`
	Verdict escape.Verdict `json:"verdict"`
	Detail  string         `json:"detail,omitempty"`
	Known   string         `json:"known,omitempty"` // why it is known to succeed here
	Millis  int64          `json:"milliseconds"`
}

// Escaping says which attempts to escape are made, and who is told of them.
type Escaping struct {
	Only   func(escape.Attempt) bool // nil makes all
	Making func(runtime, group string, done, of int)
	Made   func(Escape)
}

// Escapes makes the attempts of the corpus on each runtime where code runs, or on the one that is asked for, one
// runtime after the other.
func Escapes(all []*Runtime, e Escaping) Check {
	return Check{
		Name: "escape", Proves: "that attempts to escape fail",
		Examine: func(ctx context.Context, found func(Finding)) {
			if runtime.GOOS != "linux" {
				found(
					Finding{
						Verdict: Skipped,
						Summary: "the attempts are made for Linux: what they reach for outside of a sandbox is only there",
					},
				)
				return
			}
			for _, r := range all {
				if named := slices.ContainsFunc(all, func(r *Runtime) bool { return r.Named }); r.Named ||
					!named && r.examine(ctx).works() {
					found(r.escapes(ctx, e))
				}
			}
		},
	}
}

// escapes makes the attempts on one runtime.
func (r *Runtime) escapes(ctx context.Context, e Escaping) Finding {
	f := Finding{Subject: r.Name(), Verdict: Skipped}
	x := r.examine(ctx)
	if !x.works() {
		f.Summary = "not tried: no code runs here"
		return f
	}
	if unlimited := r.unlimited(x); unlimited != "" {
		f.Summary = "not tried: the settings do without a limit of " + unlimited + ", which attempts would use up"
		return f
	}
	total, err := e.count(r.ways())
	var made []Escape
	for result, failed := range r.results(ctx, e) {
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		made = append(made, r.escape(result))
		e.Made(made[len(made)-1])
		e.Making(r.Name(), result.Group, len(made), total)
	}
	f = Judge(f, made, err)
	if len(r.ways()) == 1 {
		f.Details = append(f.Details, "without namespaces, attempts of a whole session say little, and are not made")
	}
	return f
}

// ways are those that attempts are driven in here.
func (r *Runtime) ways() []string {
	if r.Policy.Isolation == sandbox.IsolationReduced {
		return []string{escape.InGuest}
	}
	return []string{escape.InGuest, escape.InSession}
}

// unlimited names what nothing limits, because the user has allowed it.
func (r *Runtime) unlimited(x *exam) string {
	for _, g := range x.accepted {
		if g.Name == "memory" || g.Name == "pids" && r.Policy.Isolation != sandbox.IsolationReduced {
			return g.Name
		}
	}
	return ""
}

// count is the number of attempts that will be made.
func (e Escaping) count(ways []string) (n int, err error) {
	for _, in := range ways {
		attempts, failed := escape.Attempts(in)
		err = errors.Join(err, failed)
		for _, a := range attempts {
			if e.Only == nil || e.Only(a) {
				n++
			}
		}
	}
	return n, err
}

// escapesAtOnce is how many attempts are made at a time, on a machine with as many processors.
const escapesAtOnce = 4

func (r *Runtime) results(ctx context.Context, e Escaping) iter.Seq2[escape.Result, error] {
	policy, atOnce := escape.Small(r.Policy), min(escapesAtOnce, runtime.NumCPU())
	run := map[string]iter.Seq2[escape.Result, error]{
		escape.InGuest:   escape.Run(ctx, r, escape.Options{Policy: policy, AtOnce: atOnce, Only: e.Only}),
		escape.InSession: hostile.Run(ctx, hostile.Options{Runtime: r, Policy: policy, AtOnce: atOnce, Only: e.Only}),
	}
	return func(yield func(escape.Result, error) bool) {
		for _, way := range r.ways() {
			for result, err := range run[way] {
				if !yield(result, err) {
					return
				}
			}
		}
	}
}

// escape is a result as it is told. One that was known to succeed and does not any more has held.
func (r *Runtime) escape(result escape.Result) Escape {
	e := Escape{
		Runtime: r.Name(), Group: result.Group, Name: result.Name, Tries: result.Tries, Verdict: result.Verdict,
		Detail: result.Detail, Millis: result.Took.Milliseconds(),
	}
	switch {
	case result.Verdict == escape.Measured:
		e.End = Measured
	case slices.Contains(result.Must, result.Verdict):
		e.End = Held
	case result.Known != "":
		e.End, e.Known = Known, result.Known
	case result.Verdict == escape.Escaped:
		e.End = GotOut
	default:
		e.End = NotBegun
	}
	return e
}

// Judge says what attempts come to. err is why not all were made.
func Judge(f Finding, made []Escape, err error) Finding {
	count := Ended(made)
	f.Verdict = OK
	f.Summary = fmt.Sprintf("attempts made: %d; none got out: %s", len(made), Tally(count))
	if err != nil {
		f.Verdict, f.Details = Warning, []string{err.Error()}
		f.Summary = fmt.Sprintf("not all attempts were made, but %d: %s", len(made), Tally(count))
	}
	if count[NotBegun] > 0 {
		f.Verdict = Warning
		f.Remedy = append(
			f.Remedy,
			"Make those again that could not be made, when the machine is less busy: codemode doctor --escape --attempt NAME",
		)
	}
	if n := count[GotOut]; n > 0 {
		f.Verdict = Failed
		f.Summary = fmt.Sprintf("attempts made: %d; %d got out: %s", len(made), n, Tally(count))
		f.Remedy = append(
			f.Remedy, "Use another runtime (sandbox.runtime), and report this: codemode doctor --escape --report FILE",
		)
	}
	for _, end := range []End{GotOut, NotBegun, Known} {
		for _, e := range made {
			switch {
			case e.End != end:
			case end == Known:
				f.Details = append(f.Details, fmt.Sprintf("known: %s: %s", e.Name, e.Known))
			default:
				f.Details = append(f.Details, fmt.Sprintf("%s: %s tries %s: %s", end, e.Name, e.Tries, e.Detail))
			}
		}
	}
	return f
}

// Ended counts attempts by their ends.
func Ended(made []Escape) map[End]int {
	count := map[End]int{}
	for _, e := range made {
		count[e.End]++
	}
	return count
}

// Tally puts counts into words, those that there are none of left out.
func Tally(count map[End]int) string {
	var words []string
	for _, end := range Ends {
		if count[end] > 0 {
			words = append(words, fmt.Sprintf("%d %s", count[end], end))
		}
	}
	return strings.Join(words, ", ")
}
