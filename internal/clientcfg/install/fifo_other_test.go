//go:build !unix

package install

import (
	"testing"

	"codemode/internal/require"
)

func mkfifo(t *testing.T, _ string) {
	t.Helper()
	require.Lacking(t, "pipes", "this system has no named pipes")
}
