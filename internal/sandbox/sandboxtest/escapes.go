package sandboxtest

import (
	"flag"
	"testing"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/escape"
)

var only = flag.String("attempt", "", "make this attempt of package escape alone, or all wherever they can be made")

// EscapesAtOnce is how many attempts are made at a time.
const EscapesAtOnce = 4

// Escapes makes every attempt of a guest against a runtime, and fails for each that succeeds.
func Escapes(t *testing.T, rt sandbox.Runtime, policy sandbox.Policy) {
	t.Helper()
	for r, err := range escape.Run(t.Context(), rt, escape.Options{Policy: escape.Small(policy), AtOnce: EscapesAtOnce, Only: Attempted}) {
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			t.Error(err)
		}
	}
}

const every = "all"

// Attempted tells whether an attempt is among those that the flag -attempt asks for, or that it does not speak of.
func Attempted(a escape.Attempt) bool { return *only == "" || Wanted(a) }

// Wanted tells whether the flag -attempt asks for an attempt.
func Wanted(a escape.Attempt) bool { return *only == every || *only == a.Name }
