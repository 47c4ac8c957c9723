package commands

import (
	"strings"
	"testing"

	"codemode/internal/doctor"
)

// TestCut holds that attempts which were interrupted are counted for the runtime they were made on: of one where all
// had been made, that is told before.
func TestCut(t *testing.T) {
	s := &findings{quiet: true}
	s.cut()
	if len(s.list) > 0 {
		t.Errorf("without an attempt it finds %+v", s.list)
	}
	s.escapes = []doctor.Escape{{Runtime: "native"}, {Runtime: "native"}, {Runtime: "podman"}}
	s.cut()
	if len(s.list) != 1 || s.list[0].Subject != "podman" ||
		!strings.HasPrefix(s.list[0].Summary, "not all attempts were made, but 1: ") {
		t.Errorf("%+v", s.list)
	}
}
