package sandbox

import (
	"context"
	"errors"
	"strings"
	"testing"

	"codemode/internal/hint"
)

// stubRuntime starts nothing but says what it was asked.
type stubRuntime struct {
	name   string
	err    error
	starts int
	closed int
}

type stubSandbox struct {
	Sandbox
	of string
}

func (r *stubRuntime) Name() string { return r.name }
func (r *stubRuntime) Probe(context.Context) (Report, error) {
	return Report{Runtime: r.name}, r.err
}

func (r *stubRuntime) Start(context.Context, Spec) (Sandbox, error) {
	r.starts++
	return stubSandbox{of: r.name}, r.err
}

func (r *stubRuntime) Close() error {
	r.closed++
	return nil
}

func TestFirstThatWorks(t *testing.T) {
	a := &stubRuntime{name: "a", err: &UnavailableError{Runtime: "a", Step: "looking", Err: errors.New("none here")}}
	b := &stubRuntime{name: "b", err: &GapError{Runtime: "b", Gaps: []Gap{{Name: "memory"}}}}
	c := &stubRuntime{name: "c"}
	d := &stubRuntime{name: "d"}
	rt := NewFirst(a, b, c, d)
	if rt.Name() != "auto" {
		t.Errorf("before anything has started it is %q", rt.Name())
	}
	report, err := rt.Probe(t.Context())
	if err != nil || report.Runtime != "c" {
		t.Errorf("Probe: %v, %v", report, err)
	}
	for range 2 {
		box, err := rt.Start(t.Context(), Spec{})
		if err != nil || box.(stubSandbox).of != "c" {
			t.Fatalf("Start: %v, %v", box, err)
		}
	}
	if rt.Name() != "c" || a.starts != 1 || b.starts != 1 || c.starts != 2 || d.starts != 0 {
		t.Errorf(
			"it is %q after %d, %d, %d and %d starts; the choice must be kept", rt.Name(), a.starts, b.starts, c.starts,
			d.starts,
		)
	}
	if err := rt.Close(); err != nil || a.closed+b.closed+c.closed+d.closed != 4 {
		t.Errorf("Close: %v", err)
	}
}

// A failure that is not about the machine does not make way for a runtime the user has put behind.
func TestFirstDoesNotHideFailures(t *testing.T) {
	broken := errors.New("disk full")
	behind := &stubRuntime{name: "b"}
	if _, err := NewFirst(&stubRuntime{name: "a", err: broken}, behind).Start(t.Context(), Spec{}); err != broken ||
		behind.starts != 0 {
		t.Errorf("Start: %v, and %d starts of the next", err, behind.starts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	unavailable := &stubRuntime{name: "a", err: &UnavailableError{Runtime: "a", Err: context.Canceled}}
	if _, err := NewFirst(unavailable, behind).Start(ctx, Spec{}); err == nil || behind.starts != 0 {
		t.Errorf("cancelled: %v, and %d starts of the next", err, behind.starts)
	}
}

func TestFirstOfNone(t *testing.T) {
	a := &stubRuntime{name: "a", err: &UnavailableError{Runtime: "a", Step: "looking", Err: errors.New("none here")}}
	b := &stubRuntime{name: "b", err: &GapError{Runtime: "b", Gaps: []Gap{{Name: "memory", Detail: "no cgroup"}}}}
	_, err := NewFirst(a, b).Start(t.Context(), Spec{})
	if !errors.Is(err, a.err) || err.Error() != a.err.Error() {
		t.Errorf("the error is not that of what was tried first: %v", err)
	}
	if got := strings.Join(hint.Of(err), "\n"); got != "b cannot take its place: codemode doctor says why" {
		t.Errorf("the hints are %q", got)
	}
	elsewhere := &stubRuntime{
		name: "native", err: &UnavailableError{Runtime: "native", Code: "not-linux", Err: errors.New("no Linux")},
	}
	_, err = NewFirst(elsewhere, a, b).Start(t.Context(), Spec{})
	for _, part := range []string{
		`runtime "a" is not available`, "none here", `runtime "b" cannot enforce`, "no cgroup",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("without Linux the error %v does not say %q", err, part)
		}
	}
	if _, err := NewFirst(a).Start(t.Context(), Spec{}); !errors.Is(err, a.err) {
		t.Errorf("of one runtime: %v", err)
	}
}
