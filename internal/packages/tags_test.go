package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"codemode/internal/hint"
	"codemode/internal/packages/packagestest"
)

func TestWheelTags(t *testing.T) {
	here, elsewhere := machines[runtime.GOARCH], "s390x"
	for tag, want := range map[string]bool{
		"py3-none-any":                          true,
		"py2.py3-none-any":                      true,
		"py39-none-any":                         true,
		"py315-none-any":                        false,
		"py2-none-any":                          false,
		"cp314-none-any":                        true,
		"cp313-none-any":                        false,
		"cp314-cp314-linux_" + here:             true,
		"cp314-cp314t-manylinux_2_28_" + here:   true,
		"cp311-cp311-manylinux_2_17_" + here:    false,
		"cp314-cp311-linux_" + here:             false,
		"cp39-abi3-manylinux2014_" + here:       true,
		"cp315-abi3-manylinux2014_" + here:      false,
		"pp310-pypy310_pp73-linux_" + here:      false,
		"pp310-none-any":                        false,
		"cp314-cp314-manylinux1_" + elsewhere:   false,
		"cp314-cp314-win_amd64":                 false,
		"cp314-cp314-macosx_11_0_" + here:       false,
		"py3-none-musllinux_1_2_" + here:        true,
		"cp313.cp314-cp313.cp314-linux_" + here: true,
		"cp314-cp314-manylinux1_" + elsewhere + ".manylinux2014_" + here: true,
		"cp314": false,
		"":      false,
	} {
		if got := fits(tag, "cpython-314"); got != want {
			t.Errorf("%q: %v", tag, got)
		}
	}
	if got := wheelTag("a-1.0-1build-py3-none-any.whl"); got != "py3-none-any" {
		t.Errorf("the tag is %q", got)
	}
}

// TestForeignWheel: no layer is made of a wheel for another Python, whoever asks for it.
func TestForeignWheel(t *testing.T) {
	s := newStore(t)
	w := packagestest.Wheel{
		Name: "kit", Version: "1.0", Tag: "cp311-cp311-linux_" + machines[runtime.GOARCH],
		Files: map[string]string{"kit.py": ""},
	}
	sum := sha256.Sum256(w.Bytes())
	file := filepath.Join(t.TempDir(), w.FileName())
	if err := os.WriteFile(file, w.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	lock := &Lock{Version: "1.0", Packages: []Package{{Name: "kit", Version: "1.0", Wheels: []Wheel{{
		Name: w.FileName(), URL: "file://" + file, Hashes: map[string]string{"sha256": hex.EncodeToString(sum[:])},
	}}}}}
	want := "the wheel " + w.FileName() + " is for cp311-cp311-linux_" + machines[runtime.GOARCH] +
		", and the Python that codemode carries is cpython-314 on " + runtime.GOARCH + "; nothing was changed"
	damage, err := s.Verify(t.Context(), lock)
	for _, err := range []error{err, s.Install(t.Context(), lock, &Lock{})} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if hints := hint.Of(err); !slices.ContainsFunc(hints, func(h string) bool {
			return strings.HasSuffix(h, ": codemode packages update")
		}) {
			t.Errorf("hints %q", hints)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(s.layers(), "*")); len(found)+len(damage) > 0 {
		t.Errorf("layers %q, damage %q", found, damage)
	}
}
