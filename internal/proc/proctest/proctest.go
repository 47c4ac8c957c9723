// Package proctest proves that tests leave no process behind.
//
// A test marks what it starts with an environment variable, which descendants inherit however far they
// run. It owns nothing and stops nothing that is not a leftover.
package proctest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// Variable is the environment variable that carries a mark.
const Variable = "CODEMODE_TEST_MARK"

var marks atomic.Int64

// Mark returns a value for [Variable] that no other test has. When the test ends, after everything that it
// cleans up itself, no process with it may be left; those that are, fail the test and are killed.
func Mark(t testing.TB) string {
	t.Helper()
	mark := fmt.Sprintf("%d-%d", time.Now().UnixNano(), marks.Add(1))
	t.Cleanup(func() { None(t, mark) })
	return mark
}

// patience is how long a process that has been killed may take to be gone.
const patience = 5 * time.Second

// None fails the test unless all processes with the mark end soon.
func None(t testing.TB, mark string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for _, p := range marked(mark) {
		if !p.gone(time.Until(deadline)) {
			t.Errorf("process %d is left: %s", p.pid, p.command)
			p.kill()
		}
	}
	// Those that the ended ones had started in the meantime.
	for _, p := range marked(mark) {
		t.Errorf("process %d is left: %s", p.pid, p.command)
		p.kill()
	}
}

// Count is how many processes carry the mark now.
func Count(mark string) int { return len(marked(mark)) }
