//go:build !linux

package sandboxtest

import (
	"os"
	"testing"
)

// Marker returns a word for a command line by which [Marked] finds the process.
func Marker(*testing.T) string { return "codemode-test" }

// Marked skips the test: processes in an engine's virtual machine cannot be seen from the host.
func Marked(t *testing.T, _ string) int {
	t.Skip("processes of guests cannot be seen from here")
	return 0
}

// A Leftovers is what a process has of the system at one time; nothing of that can be seen here.
type Leftovers struct{}

// TakeLeftovers looks at nothing.
func TakeLeftovers(*testing.T) Leftovers { return Leftovers{} }

// Check finds nothing.
func (Leftovers) Check(*testing.T) {}

func inheritable(*testing.T, *os.File) {}

// makeSpecial makes nothing: a folder has no more than files on every system.
func makeSpecial(*testing.T, string) []string { return nil }

// mountBelow mounts nothing.
func mountBelow(*testing.T, string) []string { return nil }
