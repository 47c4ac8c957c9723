package sandbox

import (
	"testing"
	"time"
)

// TestUntilNext: counting what a guest has takes a twentieth of a processor, however much that is, and a guest is never
// left alone for long.
func TestUntilNext(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		200 * time.Microsecond: 100 * time.Millisecond,
		80 * time.Millisecond:  1600 * time.Millisecond,
		9 * time.Second:        2 * time.Second,
	} {
		if got := untilNext(took); got != want {
			t.Errorf("after %v it is %v, want %v", took, got, want)
		}
	}
}
