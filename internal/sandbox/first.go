package sandbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"codemode/internal/hint"
)

// NewFirst returns the first of several runtimes that works here, which is found out when the first guest
// must start and kept from then on. A runtime that cannot enforce a policy does not work. Close ends all of
// them; it owns them.
func NewFirst(runtimes ...Runtime) Runtime {
	return &first{runtimes: runtimes}
}

type first struct {
	runtimes []Runtime

	mu     sync.Mutex
	chosen Runtime // nil until one has started a guest
}

func (f *first) Name() string {
	if rt := f.choice(); rt != nil {
		return rt.Name()
	}
	return "auto"
}

func (f *first) choice() Runtime {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.chosen
}

func (f *first) choose(rt Runtime) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.chosen == nil {
		f.chosen = rt
	}
}

func (f *first) Probe(ctx context.Context) (Report, error) {
	return try(ctx, f, func(rt Runtime) (Report, error) { return rt.Probe(ctx) })
}

func (f *first) Start(ctx context.Context, spec Spec) (Sandbox, error) {
	return try(ctx, f, func(rt Runtime) (Sandbox, error) {
		box, err := rt.Start(ctx, spec)
		if err == nil {
			f.choose(rt)
		}
		return box, err
	})
}

func (f *first) Close() error {
	var errs []error
	for _, rt := range f.runtimes {
		errs = append(errs, rt.Close())
	}
	return errors.Join(errs...)
}

// try asks the chosen runtime, or one after the other while they say that they do not work here.
func try[T any](ctx context.Context, f *first, ask func(Runtime) (T, error)) (T, error) {
	if rt := f.choice(); rt != nil {
		return ask(rt)
	}
	var none T
	refused := &NoRuntimeError{}
	for _, rt := range f.runtimes {
		answer, err := ask(rt)
		var unavailable *UnavailableError
		var gap *GapError
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil || !errors.As(err, &unavailable) && !errors.As(err, &gap):
			return none, err
		}
		refused.Errs, refused.Names = append(refused.Errs, err), append(refused.Names, rt.Name())
	}
	if len(refused.Errs) == 1 {
		return none, refused.Errs[0]
	}
	return none, refused
}

// NoRuntimeError says that no runtime works here, and why the first one tried does not. The reasons of the others are
// left to doctor: four lines each about engines that the user may not want.
type NoRuntimeError struct {
	Errs  []error // each an *UnavailableError or a *GapError
	Names []string
}

// told are the errors that say something: of a machine without Linux those of the engines, else the first.
func (e *NoRuntimeError) told() []error {
	var first *UnavailableError
	if errors.As(e.Errs[0], &first) && first.Code == "not-linux" {
		return e.Errs[1:]
	}
	return e.Errs[:1]
}

func (e *NoRuntimeError) Error() string {
	texts := make([]string, len(e.told()))
	for i, err := range e.told() {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Hint is what makes one of them work.
func (e *NoRuntimeError) Hint() (hints []string) {
	told := e.told()
	for _, err := range told {
		for _, h := range hint.Of(err) {
			if !slices.Contains(hints, h) {
				hints = append(hints, h)
			}
		}
	}
	if len(told) == 1 && told[0] == e.Errs[0] {
		hints = append(hints, strings.Join(e.Names[1:], " and ")+" cannot take its place: codemode doctor says why")
	}
	return hints
}

// Unwrap is for errors.As and errors.Is.
func (e *NoRuntimeError) Unwrap() error { return e.told()[0] }
