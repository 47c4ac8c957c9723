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

// known are the attempts that succeed in a container of an engine.
func known(r *Runtime) map[string]string {
	k := map[string]string{
		"sysfs":      "engines mount /sys, read-only; what tells of the machine is covered",
		"proc_leaks": "engines cover only part of /proc",
	}
	if r.name == Podman {
		k["inode_fill"] = "podman cannot limit the files of a tmpfs"
	}
	if e := r.engine(); e.memory == byWatchdog {
		k["memory_dev_zero"] = "engines give every container a /dev/zero, and no process has what is in it once it is unmapped"
	}
	return k
}

func TestEscapes(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		before := sandboxtest.TakeLeftovers(t)
		t.Run("guest", func(t *testing.T) { sandboxtest.Escapes(t, r, smallPolicy(), known(r)) })
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		before.Check(t)
	})
}
