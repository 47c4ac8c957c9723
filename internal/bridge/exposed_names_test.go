package bridge

import (
	"strings"
	"testing"
)

// TestExposedNames holds that no exposed tool takes the name of another, or one that a model's service refuses.
func TestExposedNames(t *testing.T) {
	taken := map[string]bool{"run_python": true}
	for _, tt := range [][2]string{
		{"a_b_c", "a_b_c"}, {"a_b_c", "a_b_c_2"}, {"run_python", "run_python_2"}, {strings.Repeat("x", 65), ""},
	} {
		if got := freeName(tt[0], taken); got != tt[1] {
			t.Errorf("%s is called %q, want %q", tt[0], got, tt[1])
		}
	}
}
