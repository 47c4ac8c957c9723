package escape

import (
	"context"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"codemode/internal/sandbox"
)

func TestCorpus(t *testing.T) {
	seen := map[string]bool{}
	for _, in := range []string{InGuest, InSession} {
		all, err := Attempts(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			if seen[a.Name] {
				t.Errorf("two attempts are called %s", a.Name)
			}
			seen[a.Name] = true
		}
	}
	if len(seen) < 320 {
		t.Errorf("the corpus has %d attempts", len(seen))
	}
	for name := range ofEngine(sandbox.Report{Runtime: "podman", Memory: "watchdog"}) {
		if !seen[name] {
			t.Errorf("%s is known to succeed, and not in the corpus", name)
		}
	}
}

func TestErr(t *testing.T) {
	for _, c := range []struct {
		name    string
		must    []Verdict
		verdict Verdict
		known   string
		says    string // "" for a result that is as it must be
	}{
		{"refused", []Verdict{Held}, Held, "", ""},
		{"one of two", []Verdict{Held, Killed}, Killed, "", ""},
		{"escaped", []Verdict{Held, Killed}, Escaped, "", "x: escaped, must be held or killed: why (it tries to leave)"},
		{"a mistake", []Verdict{Held}, Broken, "", "x: broken, must be held"},
		{"killed too early to tell", []Verdict{Held}, Killed, "", "x: killed, must be held"},
		{"known", []Verdict{Held}, Escaped, "it does", ""},
		{"known no longer", []Verdict{Held}, Held, "it does", "x: held, though it is known that it does"},
	} {
		r := Result{
			Attempt: Attempt{Name: "x", Tries: "to leave", Must: c.must}, Verdict: c.verdict, Detail: "why",
			Known: c.known,
		}
		switch err := r.Err(); {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)):
			t.Errorf("%s: %v, want %s", c.name, err, c.says)
		}
	}
}

// Whoever has heard enough ends those under way, and none begins after that.
func TestDriveStops(t *testing.T) {
	attempts := make([]Attempt, 100)
	tried := make(chan struct{}, len(attempts))
	heard := 0
	for range Drive(t.Context(), attempts, 3, func(ctx context.Context, _ Attempt) (Verdict, string) {
		tried <- struct{}{}
		if len(tried) > 1 {
			<-ctx.Done()
		}
		return Held, ""
	}) {
		heard++
		break
	}
	if heard != 1 || len(tried) > 6 {
		t.Errorf("%d heard, %d tried", heard, len(tried))
	}
}

func TestDriveCutsDetails(t *testing.T) {
	flood := strings.Repeat("é", maxDetail)
	for r := range Drive(t.Context(), []Attempt{{Name: "a"}}, 1, func(context.Context, Attempt) (Verdict, string) { return Held, "x" + flood }) {
		if len(r.Detail) > maxDetail+8 || !utf8.ValidString(r.Detail) {
			t.Errorf("%d bytes: %q", len(r.Detail), r.Detail)
		}
	}
}

func TestDriveMakesAll(t *testing.T) {
	var want, got []string
	var attempts []Attempt
	for _, name := range strings.Fields("a b c d e f g") {
		want = append(want, name)
		attempts = append(attempts, Attempt{Name: name})
	}
	for r := range Drive(t.Context(), attempts, 3, func(_ context.Context, a Attempt) (Verdict, string) { return Held, a.Name }) {
		got = append(got, r.Detail)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("made %v, want %v", got, want)
	}
}
