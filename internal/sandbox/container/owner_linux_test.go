package container

import "testing"

// TestSameStart: who does not know the boot takes nobody's process for one of an earlier boot, nor is taken for that.
func TestSameStart(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"0a1b-77", "0a1b-77", true},
		{"0a1b-77", "0a1b-78", false},
		{"0a1b-77", "2c3d-77", false},
		{"-77", "0a1b-77", true},
		{"0a1b-77", "-77", true},
		{"-77", "-78", false},
		{"", "0a1b-77", false},
	} {
		if same := sameStart(tt.a, tt.b); same != tt.same {
			t.Errorf("%q and %q are the same: %v", tt.a, tt.b, same)
		}
	}
}
