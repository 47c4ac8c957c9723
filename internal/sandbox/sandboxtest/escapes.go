package sandboxtest

import (
	"flag"
	"os"
	"sync"
	"testing"

	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/escape"
)

var only = flag.String("attempt", "", "make this attempt of package escape alone, or all wherever they can be made")

// EscapesAtOnce is how many attempts are made at a time.
const EscapesAtOnce = 4

// Escapes makes the attempts of a guest that are asked for against a runtime, and fails for each that succeeds.
func Escapes(t *testing.T, rt sandbox.Runtime, policy sandbox.Policy) {
	t.Helper()
	opts := escape.Options{Policy: escape.Small(policy), AtOnce: EscapesAtOnce, Only: AttemptedOnce}
	for r, err := range escape.Run(t.Context(), rt, opts) {
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			t.Error(err)
		}
	}
}

const every = "all"

// AllAttempted tells whether the whole corpus is asked for.
func AllAttempted() bool { return *only == "" && require.Named("escapes") }

// Attempted tells whether an attempt is among those that the flag -attempt asks for, or that it does not speak of: all
// where CODEMODE_REQUIRE names "escapes", else some of each group.
func Attempted(a escape.Attempt) bool {
	return AllAttempted() || Sampled(a)
}

// AttemptedOnce is Attempted for an ordinary user and Sampled for root: where the sandbox of both is made alike.
func AttemptedOnce(a escape.Attempt) bool {
	return Sampled(a) || os.Geteuid() != 0 && Attempted(a)
}

// Sampled tells whether an attempt is one of the sample of each group, or asked for by the flag -attempt.
func Sampled(a escape.Attempt) bool { return *only == "" && sample()[a.Name] || Wanted(a) }

// Wanted tells whether the flag -attempt asks for an attempt.
func Wanted(a escape.Attempt) bool { return *only == every || *only == a.Name }

// sample is every fifteenth attempt of each group.
var sample = sync.OnceValue(func() map[string]bool {
	chosen, seen := map[string]bool{}, map[string]int{}
	for _, in := range []string{escape.InGuest, escape.InSession} {
		attempts, _ := escape.Attempts(in) // TestCorpus holds that they can be read
		for _, a := range attempts {
			chosen[a.Name] = seen[in+a.Group]%15 == 0
			seen[in+a.Group]++
		}
	}
	return chosen
})
