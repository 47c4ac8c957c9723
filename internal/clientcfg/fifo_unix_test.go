//go:build unix

package clientcfg

import (
	"syscall"
	"testing"

	"codemode/internal/require"
)

func mkfifo(t *testing.T, name string) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		require.Lacking(t, "pipes", "%v", err)
	}
}
