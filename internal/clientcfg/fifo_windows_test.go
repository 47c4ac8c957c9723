package clientcfg

import (
	"testing"

	"codemode/internal/require"
)

func mkfifo(t *testing.T, name string) {
	t.Helper()
	require.Lacking(t, "pipes", "Windows has none in folders")
}
