package bridge

import (
	"strings"
	"testing"

	"codemode/internal/config"
	"codemode/internal/policy"
)

// TestClockJumps holds that the limit of calls in a minute counts by a clock that nobody can set: each time it keeps
// has a reading of that, which comparisons use (package time, "Monotonic Clocks").
func TestClockJumps(t *testing.T) {
	a := newAdmission(config.Policy{Rules: policy.Rules{CallsPerMinute: 2}})
	for range 2 {
		if d := a.decide(&run{}, policy.Call{}); d.Denied {
			t.Error(d.Why)
		}
	}
	if d := a.decide(&run{}, policy.Call{}); !d.Denied {
		t.Error("the third call of a minute was let pass")
	}
	for _, at := range a.recent {
		if !strings.Contains(at.String(), " m=") {
			t.Errorf("%v is a time of day alone", at)
		}
	}
}
