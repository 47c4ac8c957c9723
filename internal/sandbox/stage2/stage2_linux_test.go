package stage2

import "testing"

func TestInvoked(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want bool
	}{
		{[]string{Name}, true},
		{[]string{"/proc/self/fd/8", Name}, true},
		{nil, false},
		{[]string{"codemode"}, false},
		{[]string{"codemode", Name}, false},
		{[]string{Name, "extra"}, false},
		{[]string{"codemode", "exec", Name}, false},
	} {
		if got := invoked(tt.args); got != tt.want {
			t.Errorf("invoked(%q) = %v", tt.args, got)
		}
	}
}

// TestRulesetFor: rights that a version does not know would make the kernel refuse the ruleset.
func TestRulesetFor(t *testing.T) {
	bits := func(v uint64) (n int) {
		for ; v != 0; v &= v - 1 {
			n++
		}
		return n
	}
	for abi, want := range map[int]struct {
		fs, net, scoped int
		size            uintptr
	}{
		1: {13, 0, 0, 8}, 2: {14, 0, 0, 8}, 3: {15, 0, 0, 8}, 4: {15, 2, 0, 16}, 5: {16, 2, 0, 16}, 6: {16, 2, 2, 24}, 9: {16, 2, 2, 24},
	} {
		attr, size := rulesetFor(abi)
		if bits(attr.Handled_access_fs) != want.fs || bits(attr.Handled_access_net) != want.net ||
			bits(attr.Scoped) != want.scoped ||
			size != want.size {
			t.Errorf("ABI %d: %+v of %d bytes, want %+v", abi, attr, size, want)
		}
	}
}
