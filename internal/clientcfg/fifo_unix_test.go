//go:build unix

package clientcfg

import (
	"syscall"
	"testing"
)

func mkfifo(t *testing.T, name string) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		lacking(t, "pipes", err)
	}
}
