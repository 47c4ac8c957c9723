// Package guard is the small process between codemode and each server it starts: it outlives codemode
// just long enough to end what codemode started.
//
// A program that imports this package becomes a guard when it is executed under the name [Name]: it
// does so in init, before anything else of the program runs. A guard owns one command and all its
// descendants, knows nothing of codemode, and ends by itself once they are gone.
//
// # Why a process of its own
//
// The promise is that nothing stays behind, even when codemode gets SIGKILL. Nothing in the killed process
// can keep it. PR_SET_PDEATHSIG reaches the direct child alone, not the node below an npx, and it fires when
// the forking *thread* ends (golang.org/issue/27505). A guard holds the read end of a pipe whose write
// end only codemode has: end of file means that codemode is gone, however that happened. On
// Linux the guard is also a child subreaper (prctl(2), PR_SET_CHILD_SUBREAPER), so that a descendant
// that left the process group, even by a double fork, comes back to it to be killed. If the guard itself is
// killed, its direct child gets PDEATHSIG; its init goroutine holds the main thread, which never
// ends early.
package guard

// Name is the argv[0] that turns a program into a guard. Its other arguments are the path to execute
// and that program's own arguments; its environment, working directory and descriptors 0 to 2 are the
// program's.
const Name = "codemode-proc-guard"

// Descriptors of a guard beyond the standard three.
const (
	controlFD = 3 // read: one byte a command; end of file when codemode has died
	reportFD  = 4 // write: one line a fact
)

// Commands on the control pipe.
const (
	Terminate = 't' // SIGTERM to the process group
	Kill      = 'k' // SIGKILL to every descendant, at once
)

// Verbs of the report lines, each followed by a number.
const (
	Started = "started" // process id
	Failed  = "failed"  // errno of a start that did not work; nothing follows
	Exited  = "exited"  // exit code
	Killed  = "killed"  // signal
)
