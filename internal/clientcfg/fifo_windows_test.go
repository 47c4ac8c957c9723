package clientcfg

import "testing"

func mkfifo(t *testing.T, name string) {
	t.Helper()
	lacking(t, "pipes", "Windows has none in folders")
}
