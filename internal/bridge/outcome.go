package bridge

import (
	"encoding/json"
	"fmt"
	"time"

	"codemode/internal/artifact"
	"codemode/internal/guest"
	"codemode/internal/sandbox"
)

// Status is how a run ended, in the words results use.
type Status string

// The statuses of a run, as the structured result of run_python has them.
const (
	StatusSuccess         Status = "success"
	StatusError           Status = "error"
	StatusTimeout         Status = "timeout"
	StatusCancelled       Status = "cancelled"
	StatusValidationError Status = "validation_error"
)

// Ending is what ended the code, for a caller that shows an outcome as the program's own end.
type Ending int

// The endings of a run.
const (
	EndNormal    Ending = iota // it came to its end
	EndException               // an uncaught exception: Error is the traceback
	EndExit                    // sys.exit: Error is its message, if it had one
	EndSelf                    // the interpreter ended at once, as by os._exit
	EndSignal                  // a signal ended the interpreter
	EndStopped                 // codemode stopped it: deadline, cancellation, a limit, a broken channel
)

// Outcome is what came of a run. Both the MCP result and what exec prints are made from it.
type Outcome struct {
	Status   Status
	Ended    Ending
	ExitCode int // of the program, as a shell would see it: 128+n for a signal
	Signal   int // number of the signal that killed the interpreter
	Stdout   Text
	Stderr   Text
	Value    json.RawMessage // a last expression's value, where it is plain JSON
	Repr     string          // its repr
	Images   []Image
	Error    string   // what ended it: the traceback, or a sentence
	Lost     bool     // the session's variables went with it
	Notes    []string // what else the caller should know, a sentence each
	Done     []string // those of Notes that report a success and are no warnings
	Servers  []string // the servers named for this run
	Timeout  time.Duration
	Session  string
	Run      int
	Receipt  Receipt
	Effects  Effects
	// Artifacts are the files that it has left, as far as they were kept.
	Artifacts []artifact.Artifact
	// Err is why codemode itself could not run the code; the program never started or was not to
	// blame. nil in every other case.
	Err error
}

// Image is a picture a run showed.
type Image struct {
	MIME string
	Data []byte
}

// Receipt says what a run did.
type Receipt struct {
	Run       string           `json:"run,omitempty"` // as the audit log calls it
	Runtime   string           `json:"runtime,omitempty"`
	Isolation string           `json:"isolation,omitempty"` // only when it is not full
	Gaps      []string         `json:"gaps,omitempty"`      // limits the user agreed to do without
	StartMS   int64            `json:"startMs,omitempty"`   // starts: of the sandbox, and of servers
	PythonMS  int64            `json:"pythonMs"`            // without the next two
	ToolsMS   int64            `json:"toolsMs,omitempty"`   // while some call was under way
	AskedMS   int64            `json:"askedMs,omitempty"`   // while the user was asked
	Calls     int              `json:"calls,omitempty"`
	ByTool    map[string]Tally `json:"byTool,omitempty"`
	KeptBytes int64            `json:"keptBytes,omitempty"` // of tools' results, which Python got
	// Of output, value, error and images, which went to the client.
	ReturnedBytes int64 `json:"returnedBytes"`
}

func receiptFor(e sandbox.Enforcement) Receipt {
	r := Receipt{Runtime: e.Runtime}
	if e.Isolation != sandbox.IsolationFull {
		r.Isolation = string(e.Isolation)
	}
	for _, g := range e.Gaps {
		r.Gaps = append(r.Gaps, g.Name)
	}
	return r
}

// Invalid is the outcome of a request that cannot be meant.
func Invalid(format string, args ...any) Outcome {
	return Outcome{Status: StatusValidationError, ExitCode: 2, Error: fmt.Sprintf(format, args...)}
}

// NotRun is the outcome of code that codemode could not run.
func NotRun(err error) Outcome {
	return Outcome{Status: StatusError, ExitCode: 125, Error: err.Error(), Err: err} // as of docker-run(1)
}

// raised is what is said of an exception: of one for lack of memory, Python does not know the limit.
func raised(e *guest.RunFailed, memory int64) string {
	if e.Type != "MemoryError" {
		return e.Traceback
	}
	return fmt.Sprintf(
		"%s; the sandbox may use %d MB: work in pieces, or the user raises sandbox.memory", e.Traceback, memory>>20,
	)
}

// died is the outcome of a run whose interpreter went away by itself or for what it used.
func died(e sandbox.Exit, memory int64) Outcome {
	out := Outcome{Status: StatusError, Lost: true}
	if why := usedUp(e.Cause, memory); why != "" {
		out.Ended, out.ExitCode, out.Error = EndStopped, 137, why
		return out
	}
	if e.Signal != 0 {
		out.Ended, out.Signal, out.ExitCode = EndSignal, e.Signal, 128+e.Signal
		out.Error = fmt.Sprintf("Python was killed by signal %d%s", e.Signal, signalWord(e.Signal))
		return out
	}
	out.Ended, out.ExitCode = EndSelf, e.Code
	out.Error = fmt.Sprintf("Python ended before the code was done (exit code %d)", e.Code)
	return out
}

// usedUp says what a guest had too much of, or hid; "" for one that ended otherwise.
func usedUp(cause sandbox.ExitCause, memory int64) string {
	const others = "less while others use up what the user may have"
	switch cause {
	case sandbox.ExitMemory:
		return fmt.Sprintf("out of memory (limit %d MB)", memory>>20)
	case sandbox.ExitPipes:
		return fmt.Sprintf("too many pipes (limit %d, %s)", sandbox.MaxPipes, others)
	case sandbox.ExitWatches:
		return fmt.Sprintf("too many epoll entries (limit %d, %s)", sandbox.MaxWatches, others)
	case sandbox.ExitLocks:
		return fmt.Sprintf("too many locks on parts of files (limit %d)", sandbox.MaxLocks)
	case sandbox.ExitKernelFiles:
		return fmt.Sprintf(
			"too many open files of /proc and /sys (limit %d; %d that tell of maps, locks or variables; none of %s)",
			sandbox.MaxKernelFiles, sandbox.MaxUnbounded, "another process's memory",
		)
	case sandbox.ExitFolders:
		return fmt.Sprintf("too many open folders (limit %d)", sandbox.MaxFolders)
	case sandbox.ExitTerminals:
		return fmt.Sprintf("too many terminals (limit %d)", sandbox.MaxTerminals)
	case sandbox.ExitUnreadable:
		return "a process cannot be looked at: it executes a program that it may not read"
	}
	return ""
}

// signalWord explains the signals a program brings on itself; numbers are Linux's, signal(7).
func signalWord(n int) string {
	if w, ok := map[int]string{
		4: "illegal instruction", 6: "abort", 7: "bus error", 8: "arithmetic error",
		9: "kill", 11: "segmentation fault", 15: "terminate", 25: "file size limit", 31: "forbidden system call",
	}[n]; ok {
		return " (" + w + ")"
	}
	return ""
}
