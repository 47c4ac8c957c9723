package commands

import (
	"runtime"
	"runtime/debug"
)

const (
	usualGC = 100 // what Go does by itself
	laterGC = 800 // which has the first collection at 32 MB instead of 4

	softMemory = 512 << 20 // from there on garbage is collected rather than twice as much taken
)

// tuneGC has the first garbage collection of a command come late, and later ones as usual: most commands end before
// they have used as much, and a collection takes both processors from what they wait for. Where much is in use, garbage
// does not double it.
func tuneGC(env Env) {
	if env.get("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemory)
	}
	if env.get("GOGC") != "" {
		return // the user's own
	}
	debug.SetGCPercent(laterGC)
	first := new([64]byte) // nobody needs it, so the first collection finds it
	runtime.AddCleanup(first, func(percent int) { debug.SetGCPercent(percent) }, usualGC)
}

// collectAsUsual is for a command that goes on for long, in little memory.
func collectAsUsual(env Env) {
	if env.get("GOGC") == "" {
		debug.SetGCPercent(usualGC)
	}
}
