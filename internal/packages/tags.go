package packages

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"codemode/internal/hint"
)

// machines are what platform tags call this machine; of others only pip knows the names.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i686"}

// fitting refuses a lock of which a wheel is for another interpreter than an ABI's: what is compiled for one of them
// cannot be loaded by another, and would only fail when it is imported. pip has chosen for the one it was run with.
func (s *Store) fitting(ctx context.Context, l *Lock) error {
	abi, err := s.Source.ABI(ctx)
	if err != nil {
		return err
	}
	for _, p := range l.Packages {
		if tag := wheelTag(p.Wheel().Name); !fits(tag, abi) {
			update := "codemode packages update"
			if other := s.Source.Interpreter; other != "" {
				update += " --python " + hint.Word(other)
			}
			return s.foreign("the wheel "+p.Wheel().Name, tag, abi, "to have packages for this Python instead: "+update)
		}
	}
	return nil
}

// foreign is the error of what is for another interpreter.
func (s *Store) foreign(what, tag, abi, advice string) error {
	this := "the Python that codemode carries"
	if other := s.Source.Interpreter; other != "" {
		this = fmt.Sprintf("%q", other)
	}
	return hint.New(
		fmt.Sprintf("%s is for %s, and %s is %s on %s; nothing was changed", what, tag, this, abi, runtime.GOARCH),
		advice,
	)
}

// wheelTag is the end of a wheel's name, PYTHON-ABI-PLATFORM; empty of a name that has none.
func wheelTag(name string) string {
	parts := strings.Split(strings.TrimSuffix(name, ".whl"), "-")
	if len(parts) < 5 {
		return ""
	}
	return strings.Join(parts[len(parts)-3:], "-")
}

// fits tells whether one of the tags that a tag stands for is an ABI's, such as "cpython-314"
// (https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/, read 2026-11).
func fits(tag, abi string) bool {
	parts := strings.Split(tag, "-")
	version, known := strings.CutPrefix(abi, "cpython-")
	if len(parts) != 3 || !known || !anyOf(parts[2], platformFits) {
		return false
	}
	minor, ok := minorOf(version)
	return ok && anyOf(parts[0], func(python string) bool {
		return anyOf(parts[1], func(binary string) bool { return pythonFits(python, binary, version, minor) })
	})
}

func anyOf(set string, test func(string) bool) bool {
	for one := range strings.SplitSeq(set, ".") {
		if test(one) {
			return true
		}
	}
	return false
}

// pythonFits compares a wheel's Python tag and ABI tag with a version, such as "314", whose minor version is given too.
// Whether the interpreter is free-threaded cannot be told from its version: that is left to pip.
func pythonFits(python, binary, version string, minor int) bool {
	own := python == "cp"+version
	least, numbered := minorOf(strings.TrimLeft(python, "cpy"))
	switch {
	case binary == "cp"+version || binary == "cp"+version+"t":
		return own
	case strings.HasPrefix(binary, "abi3"):
		return strings.HasPrefix(python, "cp") && numbered && least <= minor
	case binary == "none":
		return own || python == "py3" || strings.HasPrefix(python, "py") && numbered && least <= minor
	}
	return false
}

// minorOf is 14 of "314", a version of Python 3.
func minorOf(version string) (int, bool) {
	rest, is3 := strings.CutPrefix(version, "3")
	minor, err := strconv.Atoi(rest)
	return minor, is3 && err == nil && minor >= 0
}

// platformFits leaves to pip which C library there is, and how old.
func platformFits(platform string) bool {
	if platform == "any" {
		return true
	}
	machine, known := machines[runtime.GOARCH]
	if known && !strings.HasSuffix(platform, "_"+machine) {
		return false
	}
	system, _, _ := strings.Cut(platform, "_")
	return strings.HasSuffix(strings.TrimRight(system, "0123456789"), "linux") // linux, manylinux2014, musllinux
}
