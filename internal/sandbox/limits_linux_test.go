package sandbox

import "testing"

// TestStackOfAGuest: where a watchdog keeps memory, no stack can be made larger than MaxStack.
func TestStackOfAGuest(t *testing.T) {
	p := Policy{Memory: 128 << 20, Processes: 128}
	for means, want := range map[string]uint64{meansWatchdog: 1 << 20, "cgroup": 8 << 20} {
		for _, l := range guestLimits(p, Enforcement{Memory: means}) {
			if l.Name == "stack" && (l.Max != want || l.Cur > min(want, UsualStack)) {
				t.Errorf("memory by %s: %+v, want %d", means, l, want)
			}
		}
	}
}
