//go:build linux

package container

import (
	"testing"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
)

func TestContract(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		before := sandboxtest.TakeLeftovers(t)
		sandboxtest.Run(t, r, sandbox.DefaultPolicy())
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		before.Check(t)
	})
}
