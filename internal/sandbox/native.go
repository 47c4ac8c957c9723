package sandbox

import (
	"log/slog"

	"codemode/internal/sandbox/python"
)

// NativeOptions configure the native runtime.
type NativeOptions struct {
	CacheDir string // codemode's cache; the runtime keeps to its "guest" directory
	Python   python.Source
	Log      *slog.Logger // nil logs nothing

	// Isolation is what Probe tries; empty is IsolationFull. Start goes by its Spec's policy.
	Isolation Isolation

	Ahead *Ahead // for the first guest, if it fits; nil is none
}

// NewNative returns the runtime that needs no engine: on Linux the codemode binary isolates Python in
// itself. Elsewhere every use of it answers with an *UnavailableError.
//
// It starts the executable it is part of once more, so that a program which uses it must do no harm
// when it is started by the name of package stage2's Name: importing this package is all it takes.
func NewNative(opts NativeOptions) Runtime {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Isolation == "" {
		opts.Isolation = IsolationFull
	}
	return newNative(opts)
}

const nativeName = "native"

// Ways to make the namespaces of a guest, as in Report.Method.
const (
	methodUserns = "userns" // by ourselves
	methodBwrap  = "bwrap"  // by the system's bubblewrap, which may be allowed what we are not
	methodNone   = "none"   // not at all
)

// Means of a limit, as in Report.Memory, Report.Pids and Report.CPUs.
const (
	meansCgroup   = "cgroup"
	meansWatchdog = "watchdog"
	meansRlimit   = "rlimit"
	meansSeccomp  = "seccomp" // codemode is asked about each new thread
	meansNone     = "none"
)
