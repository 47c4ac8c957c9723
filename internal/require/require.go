// Package require decides, for tests, what happens where a machine lacks something: an engine, npm, a Python.
//
// CODEMODE_REQUIRE, a list with commas, names what must be there. It owns nothing and looks for nothing itself.
package require

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Lacking skips a test for want of a feature, with the reason, or fails it where that feature must be there.
func Lacking(t testing.TB, feature, format string, args ...any) {
	t.Helper()
	if Named(feature) {
		t.Fatalf("CODEMODE_REQUIRE names "+feature+": "+format, args...)
	}
	t.Skipf(format, args...)
}

// Named tells whether a feature must be there, or, of what takes long, be done in full: "random", "soak".
func Named(feature string) bool {
	return slices.Contains(strings.Split(os.Getenv("CODEMODE_REQUIRE"), ","), feature)
}
