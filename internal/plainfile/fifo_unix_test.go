//go:build unix

package plainfile_test

import (
	"syscall"
	"testing"
)

func fifo(t *testing.T, name string) {
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
}
