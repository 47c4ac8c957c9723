package container

import (
	"testing"

	"codemode/internal/sandbox"
)

// TestStackOfAGuest: where the init keeps memory, no stack can be made larger than sandbox.Policy.MaxStack says.
func TestStackOfAGuest(t *testing.T) {
	p := sandbox.Policy{Memory: 128 << 20, Processes: 128}
	for means, want := range map[string]int64{byWatchdog: 1 << 20, byCgroup: 8 << 20} {
		for _, l := range rlimits(p, sandbox.Enforcement{Memory: means}) {
			if l.name == "stack" && (l.hard != want || l.soft > min(want, sandbox.UsualStack)) {
				t.Errorf("memory by %s: %+v, want %d", means, l, want)
			}
		}
	}
}
