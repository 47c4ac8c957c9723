package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/container"
	"codemode/internal/sandbox/escape"
)

func TestEscapeEnds(t *testing.T) {
	r := &Runtime{Runtime: container.New(container.Options{Engine: container.Podman})}
	for _, c := range []struct {
		name    string
		must    []escape.Verdict
		verdict escape.Verdict
		known   string
		end     End
	}{
		{"refused", []escape.Verdict{escape.Held}, escape.Held, "", Held},
		{"ended by a limit", []escape.Verdict{escape.Held, escape.Killed}, escape.Killed, "", Held},
		{"harmless", []escape.Verdict{escape.Measured, escape.Held}, escape.Measured, "", Measured},
		{"known", []escape.Verdict{escape.Held}, escape.Escaped, "it does", Known},
		{"known, and not so here", []escape.Verdict{escape.Held}, escape.Held, "it does", Held},
		{"a restriction is missing", []escape.Verdict{escape.Held}, escape.Escaped, "", GotOut},
		{"no room to begin", []escape.Verdict{escape.Held}, escape.Broken, "", NotBegun},
		{"killed too early to tell", []escape.Verdict{escape.Held}, escape.Killed, "", NotBegun},
	} {
		e := r.escape(escape.Result{Attempt: escape.Attempt{Must: c.must}, Verdict: c.verdict, Known: c.known})
		if e.End != c.end || (e.Known != "") != (c.end == Known) {
			t.Errorf("%s: %q, known %q; want %q", c.name, e.End, e.Known, c.end)
		}
	}
}

func TestEscapeFinding(t *testing.T) {
	held := Escape{Name: "a", End: Held}
	known := Escape{Name: "b", End: Known, Known: "engines do"}
	got := Escape{Name: "c", Tries: "to leave", End: GotOut, Detail: "it left"}
	broken := Escape{Name: "d", Tries: "to stay", End: NotBegun, Detail: "no room"}
	for _, c := range []struct {
		name    string
		made    []Escape
		err     error
		verdict Verdict
		summary string
		details []string
	}{
		{"all is well", []Escape{held, known}, nil, OK, "attempts made: 2; none got out: 1 held, 1 known", []string{"known: b: engines do"}},
		{"one could not be made", []Escape{held, broken}, nil, Warning, "attempts made: 2; none got out: 1 held, 1 broken", []string{"broken: d tries to stay: no room"}},
		{
			"one got out",
			[]Escape{broken, known, got, held},
			nil, Failed, "attempts made: 4; 1 got out: 1 held, 1 known, 1 escaped, 1 broken",
			[]string{"escaped: c tries to leave: it left", "broken: d tries to stay: no room", "known: b: engines do"},
		},
		{"it ended early", []Escape{held}, errors.New("no decoys"), Warning, "not all attempts were made, but 1: 1 held", []string{"no decoys"}},
	} {
		f := Judge(Finding{}, c.made, c.err)
		if f.Verdict != c.verdict || f.Summary != c.summary || !slices.Equal(f.Details, c.details) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// What nothing limits would be used up.
func TestEscapesNeedLimits(t *testing.T) {
	for _, c := range []struct {
		gap       string
		isolation sandbox.Isolation
		want      string
	}{
		{"memory", sandbox.IsolationFull, "memory"},
		{"memory", sandbox.IsolationReduced, "memory"},
		{"pids", sandbox.IsolationFull, "pids"},
		{"pids", sandbox.IsolationReduced, ""}, // there it is one process
		{"cpus", sandbox.IsolationFull, ""},
	} {
		r := &Runtime{Policy: sandbox.Policy{Isolation: c.isolation}}
		if got := r.unlimited(&exam{accepted: []sandbox.Gap{{Name: c.gap}}}); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.gap, c.isolation, got, c.want)
		}
	}
}

func TestEscapesAreCounted(t *testing.T) {
	full, reduced := &Runtime{}, &Runtime{Policy: sandbox.Policy{Isolation: sandbox.IsolationReduced}}
	all, err := Escaping{}.count(full.ways())
	if err != nil || all < 300 {
		t.Errorf("%d attempts, %v", all, err)
	}
	fewer, err := Escaping{}.count(reduced.ways())
	if err != nil || fewer < 100 || fewer >= all {
		t.Errorf("%d attempts without namespaces, %v", fewer, err)
	}
	one, err := Escaping{
		Only: func(a escape.Attempt) bool { return strings.HasPrefix(a.Name, "read_ssh") },
	}.count(full.ways())
	if err != nil || one != 1 {
		t.Errorf("%d attempts, %v", one, err)
	}
}
