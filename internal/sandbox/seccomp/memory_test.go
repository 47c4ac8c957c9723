package seccomp

import "testing"

// TestAdvices holds that nobody takes much memory, or page tables, in one system call.
func TestAdvices(t *testing.T) {
	const remove, mergeable, hugepage, populate, guard, poison = 9, 12, 14, 23, 102, 100
	for advice, want := range map[uint64][2]uint32{ // of who is watched, and of others
		4: {retAllow, retAllow}, 8: {retAllow, retAllow}, 18: {retAllow, retAllow},
		remove: {errno(einval), retAllow}, hugepage: {errno(einval), retAllow}, populate: {errno(einval), retAllow},
		mergeable: {errno(einval), errno(einval)}, guard: {errno(einval), errno(einval)},
		poison: {errno(einval), errno(einval)},
	} {
		for goarch, a := range arches {
			for n, opts := range []Options{{Watched: true}, {}, {Watched: true, Program: true}} {
				prog, err := Filter(goarch, opts)
				if err != nil {
					t.Fatal(err)
				}
				call := data{nr: number(t, goarch, "madvise"), arch: a.audit, args: [6]uint64{0, 4096, advice}}
				want := want[min(n, 1)]
				if got, err := run(prog, call); got != want || err != nil {
					t.Errorf("%s, %+v: madvise with %d: %#x, %v; want %#x", goarch, opts, advice, got, err, want)
				}
			}
		}
	}
}
