package seccomp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"codemode/internal/require"
)

// judge answers a call as libseccomp does with a profile whose rules do not contradict each other.
func judge(t *testing.T, p ociProfile, name string, args [6]uint64) uint32 {
	t.Helper()
	answer, found := errno(p.DefaultErrnoRet), false
	for _, r := range p.Syscalls {
		if !slices.Contains(r.Names, name) || !fits(r.Args, args) {
			continue
		}
		got := uint32(retAllow)
		if r.Action == ociErrno {
			got = errno(*r.ErrnoRet)
		}
		if found && got != answer {
			t.Fatalf("%s(%#x): rules contradict each other", name, args)
		}
		answer, found = got, true
	}
	return answer
}

func fits(conditions []ociArg, args [6]uint64) bool {
	for _, c := range conditions {
		got, ok := args[c.Index], false
		switch c.Op {
		case ociEqual:
			ok = got == c.Value
		case ociNotEqual:
			ok = got != c.Value
		case ociMasked:
			ok = got&c.Value == c.ValueTwo
		}
		if !ok {
			return false
		}
	}
	return true
}

// TestOCI compares the profile with the filter: it must allow nothing that the filter refuses, and refuse
// nothing that the filter allows, but for values that no program means.
func TestOCI(t *testing.T) {
	for _, opts := range []Options{{}, {Watched: true}, {Closed: true}, {Writes: true}, {Init: true}} {
		t.Run(fmt.Sprintf("%+v", opts), func(t *testing.T) { compareOCI(t, opts) })
	}
}

func compareOCI(t *testing.T, opts Options) {
	var p ociProfile
	if err := json.Unmarshal(OCI(opts), &p); err != nil {
		t.Fatal(err)
	}
	interesting := []uint64{
		0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 22, 32, 33, 38, 40, 41, fSetLease, fNotify, tiocsti, tiocsti + 1, tioclinux,
		tioccons, ficlone, tiocsetd, 0x5401, 0x541b, 0x802c542a, 0x80005412, 0x40086602, 0x8901, 1031, 1032, 36,
		perQuery, 0x241, 0o4755, 0o2644, 0x400000 | 1, cloneNamespace, 0x01200011, 0x3d0f00, 0x3d0b00, cloneThread, 0x10000000, 0x02000000, 0x53564d41,
		tiocsptlck, tiocgptpeer, 4, 11, 12, 13, 128 | 3, 256 | 11,
		1<<32 | 1, 1<<32 | tiocsti, 1<<63 | fSetLease,
	}
	random := 20
	if require.Named("random") {
		random = 200
	}
	for range random {
		interesting = append(interesting, rand.Uint64()>>rand.IntN(64))
	}
	for goarch, a := range arches {
		filter, err := Filter(goarch, opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			if a.number(c) == none {
				continue
			}
			for i, x := range interesting {
				y := interesting[len(interesting)-1-i]
				for _, args := range [][6]uint64{{x, y}, {y, x}, {1, x}, {3, 1, x}, {3, x, 7}, {0, 0, 0, x}} {
					want, err := run(filter, data{nr: uint32(a.number(c)), arch: a.audit, args: args})
					if err != nil {
						t.Fatal(err)
					}
					got := judge(t, p, c.name, args)
					if (got == errno(0)) != (want == errno(0)) {
						t.Errorf("%s: %s(%#x) is %#x by the profile, %#x by the filter", goarch, c.name, args, got, want)
					}
					if got == retAllow && want != retAllow {
						t.Errorf("%s: %s(%#x) is allowed by the profile, %#x by the filter", goarch, c.name, args, want)
					}
					if got != retAllow && want == retAllow && args[0]>>32 == 0 && args[1]>>32 == 0 {
						t.Errorf("%s: %s(%#x) is %#x by the profile, allowed by the filter", goarch, c.name, args, got)
					}
				}
			}
		}
	}
}

func TestBlocksWithout(t *testing.T) {
	for _, except := range [][]uint32{{0}, {0xffffffff}, {1, 2}, {tiocsti, tioclinux, tioccons}, {}} {
		blocks := blocksWithout(except...)
		covered := uint64(0)
		for _, b := range blocks {
			covered += uint64(^b.mask) + 1
		}
		if want := uint64(1)<<32 - uint64(len(except)); covered != want {
			t.Errorf("without %v: %d numbers are covered, want %d", except, covered, want)
		}
		for _, x := range append(except, 0, 1, 5, 0x7fffffff, 0xffffffff, tiocsti+1) {
			inside := 0
			for _, b := range blocks {
				if x&b.mask == b.value {
					inside++
				}
			}
			if want := map[bool]int{true: 0, false: 1}[slices.Contains(except, x)]; inside != want {
				t.Errorf("without %v: %s is in %d blocks, want %d", except, fmt.Sprintf("%#x", x), inside, want)
			}
		}
	}
}
