//go:build !unix

package install

import "testing"

func mkfifo(t *testing.T, _ string) {
	t.Helper()
	lacking(t, "pipes", "this system has no named pipes")
}
