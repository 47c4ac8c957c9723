// Package reaper is the small process beside a guest that ends it when codemode has died, or when the guest holds
// more memory than it may and no cgroup limits it.
//
// An MCP server that runs in a sandbox gets a moment to end by itself first, as it would without one: the end of
// codemode is that of its input.
//
// A program that imports this package becomes a reaper when it is executed under the name [Name], in init, before
// anything else of the program runs. A reaper owns nothing but a handle of one guest's first process and what it
// looks at of the guest, never starts anything, and ends as soon as either the guest or codemode has.
//
// # Why a process of its own
//
// The guest has a parent-death signal, but that is a property of a thread, and the guest can lose it: a
// thread other than the first that calls execve(2) becomes the first, without the signal (pid(2) stays the
// same; PR_SET_PDEATHSIG in prctl(2)). The reaper is outside the guest's pid namespace, where the guest can
// neither see nor signal it, and holds one end of a pair of sockets whose other end only codemode has: end of file
// means that codemode is gone, SIGKILL included.
//
// A look at memory that comes late is one that allows more. The reaper has a session of its own, to which the
// kernel gives a share of the processors (autogroup), and waits for none of what codemode does.
package reaper

// Name is the argv[0] that turns a program into a reaper. Its argument is the grace, as a time.Duration.
const Name = "codemode-sandbox-reaper"

// Descriptors of a reaper beyond the standard three.
const (
	guestFD    = 3 // a pidfd of the guest's first process
	codemodeFD = 4 // a socket whose other end is codemode's
)

// overLimit is what a reaper tells codemode before it ends a guest for its memory.
const overLimit = 'm'
