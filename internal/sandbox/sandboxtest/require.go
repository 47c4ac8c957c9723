package sandboxtest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Missing skips a test that this machine cannot run, with the reason; or fails it where the
// environment says in CODEMODE_REQUIRE, a list with commas, that it must be able to.
func Missing(t *testing.T, feature, format string, args ...any) {
	t.Helper()
	if Required(feature) {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Required tells whether CODEMODE_REQUIRE names a feature.
func Required(feature string) bool {
	return slices.Contains(strings.Split(os.Getenv("CODEMODE_REQUIRE"), ","), feature)
}
