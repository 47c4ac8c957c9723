package sandbox

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"codemode/internal/proc"
)

// Restrictions are what a program that is no guest may use: an MCP server. Paths are absolute.
type Restrictions struct {
	Read    []string // files and folders it sees beside its own installation and the system's
	Write   []string // and those it may change
	Network bool     // the host's, whole; else none
	Memory  int64    // bytes; 0 is DefaultProgramMemory

	// Project is a folder whose files are a stranger's: they lead to nothing of the user's that would be shown with
	// them.
	Project string
}

const (
	// DefaultProgramMemory is what a program may use of memory that says nothing else.
	DefaultProgramMemory = 2 << 30

	// ProgramProcesses is how many processes and threads a program may have.
	ProgramProcesses = 1024
)

// ProgramOptions configure Programs.
type ProgramOptions struct {
	// Protected are files and folders that no program may write to, whatever its restrictions say.
	Protected []string
	// Homes are folders of the user's that no program sees whole: it sees what of them its restrictions name, or its
	// installation is.
	Homes []string
	// Trusted are folders, the links on the way to which are followed in a program's restrictions and the folder where
	// it starts. Others may be the work of code that may change a folder, and are refused.
	Trusted []string
	Log     *slog.Logger // nil logs nothing
}

// Programs starts ordinary programs within the restrictions of the native runtime, or not at all. It holds nothing
// to be closed: the caller owns what it starts.
type Programs struct {
	protected []string
	homes     []string
	trusted   []string
	native    native
}

// NewPrograms returns what starts programs. As with [NewNative], it starts the executable it is part of once more.
func NewPrograms(opts ProgramOptions) *Programs {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Programs{
		protected: opts.Protected, homes: opts.Homes, trusted: opts.Trusted,
		native: native{log: opts.Log, isolation: IsolationFull},
	}
}

// Confined is Starter of an interpreter that sees what it is installed in, and changes those folders alone. All that is
// about it may be a stranger's.
func (p *Programs) Confined(write ...string) proc.Starter {
	return func(ctx context.Context, spec proc.Spec, streams [3]*os.File) (proc.Family, error) {
		restrictions := Restrictions{Write: write, Project: filepath.Dir(filepath.Dir(spec.Path))}
		return p.Starter(restrictions)(ctx, spec, streams)
	}
}

// A RestrictionsError is a path that a program cannot have been given.
type RestrictionsError struct {
	Field string // of a server's entry: sandbox_read, sandbox_write or cwd
	Path  string // as it was given
	Err   error
}

func (e *RestrictionsError) Error() string {
	return e.Field + " names " + strconv.Quote(e.Path) + ": " + e.Err.Error()
}

func (e *RestrictionsError) Unwrap() error { return e.Err }
