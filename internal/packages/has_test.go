package packages

import (
	"testing"

	"codemode/internal/packages/packagestest"
)

// TestHas: whether what is there does is judged as pip would, by versions, extras and markers.
func TestHas(t *testing.T) {
	s := newStore(t)
	x := packagestest.NewIndex()
	defer x.Close()
	x.Add(
		packagestest.Wheel{Name: "own", Version: "1.10", Requires: []string{
			"own-part; extra == 'part'", "own-absent; extra == 'more'", "own-absent; sys_platform == 'win32'",
		}, Files: map[string]string{"own.py": ""}},
		packagestest.Wheel{Name: "own-part", Version: "2.0rc1", Files: map[string]string{"own_part.py": ""}},
	)
	lock := add(t, s, Wish{Requirements: []string{"own", "own-part>=2.0rc1"}, Index: x.URL()})
	for requirement, want := range map[string]bool{
		"own": true, "Own": true, "own == 1.10": true, "own==1.10.0": true, "own>=1.9,<2": true, "own~=1.9": true,
		"own(>=1)": true, "own===1.10": true, "own!=1.9.*": true, "own>=1.2a1": true,
		"own<1.9": false, "own~=1.10.1": false, "own===1.1": false, "own>1.10.post1": false, "other": false,
		"own-part": true, "own_part>=1": true, "own-part>=2.0rc1": true, "own-part>=2": false, "own-part==2.0rc1": true,
		"own[part]": true, "own[part]>=2": false, "own[more]": false, "own[unknown]": true,
		"other; python_version < '3'": true, "other; python_version > '3'": false, "own<1; sys_platform == 'win32'": true,
	} {
		if has, err := s.Has(t.Context(), lock, []string{"own", requirement}); err != nil || has != want {
			t.Errorf("%s: %v, want %v (%v)", requirement, has, want, err)
		}
		if yes, known := lock.answers(requirement); known && yes != want {
			t.Errorf("%s: %v without Python, want %v", requirement, yes, want)
		}
	}
	if has, err := s.Has(t.Context(), &Lock{}, []string{"own"}); err != nil || has {
		t.Errorf("nothing has it: %v, %v", has, err)
	}
}

func BenchmarkHas(b *testing.B) {
	s := newStore(b)
	x := packagestest.NewIndex()
	defer x.Close()
	x.Add(packagestest.Wheel{Name: "own", Version: "1.10", Files: map[string]string{"own.py": ""}})
	lock := add(b, s, Wish{Requirements: []string{"own"}, Index: x.URL()})
	for name, requirement := range map[string]string{"numbers": "own>=1.2", "extra": "own[all]>=1.2"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if has, err := s.Has(b.Context(), lock, []string{requirement}); err != nil || !has {
					b.Fatal(has, err)
				}
			}
		})
	}
}
