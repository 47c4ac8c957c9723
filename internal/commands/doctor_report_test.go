package commands

import (
	"strings"
	"testing"

	"codemode/internal/doctor"
)

// TestReportNamesItsRevision: a revision that stands in what was found may be anybody's key, codemode's own is none.
func TestReportNamesItsRevision(t *testing.T) {
	const revision = "15db2617c0ffee15db2617c0ffee15db2617c0ff"
	v := version{Version: "1.2.3", Revision: revision, Go: "go1.26", Platform: "linux/amd64"}
	got := reported(v, doctor.NewRedactor("/home/me"), "system\nin /home/me: "+strings.Repeat("0a1b", 10)+"\n")
	if want := "codemode 1.2.3 " + revision + ", go1.26, linux/amd64\nsystem\nin ~: ***\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
