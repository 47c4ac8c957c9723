package escape_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"codemode/internal/proc"
	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/escape"
	"codemode/internal/sandbox/sandboxtest"
)

// programs is the sandbox of MCP servers as if it were one of guests: an attempt is a program that the system's Python
// runs.
type programs struct {
	*sandbox.Programs
	dir   string // where guests' files are
	limit int64  // of memory
}

func (p *programs) Name() string                                  { return "native" }
func (p *programs) Probe(context.Context) (sandbox.Report, error) { return sandbox.Report{}, nil }
func (p *programs) Close() error                                  { return nil }

func (p *programs) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	files := filepath.Join(p.dir, spec.Session)
	if err := os.CopyFS(files, spec.Files); err != nil {
		return nil, err
	}
	process, err := proc.Start(ctx, proc.Spec{
		Path:  "/usr/bin/python3",
		Args:  []string{"-I", "-S", "-u", "-B", filepath.Join(files, spec.Boot), "none"},
		Dir:   "/",
		Env:   append([]string{"PATH=/usr/bin:/bin", "HOME=/workspace", "TMPDIR=/tmp"}, spec.Env...),
		Start: p.Starter(sandbox.Restrictions{Read: []string{files}, Memory: p.limit}),
	})
	if err != nil {
		return nil, err
	}
	return &attempted{process: process}, nil
}

// attempted is an attempt under way, which reports on its standard output.
type attempted struct {
	process *proc.Process
	killed  atomic.Bool
}

func (a *attempted) Channel() io.ReadWriteCloser {
	return struct {
		io.Reader
		io.WriteCloser
	}{a.process.Stdout(), a.process.Stdin()}
}
func (a *attempted) BootArg() string        { return "none" }
func (a *attempted) Input() io.Reader       { return nil }
func (a *attempted) Layers() string         { return "" }
func (a *attempted) SitePackages() []string { return nil }
func (a *attempted) OutFiles(context.Context, map[string]string, func(sandbox.OutFile) error) error {
	return nil
}

func (a *attempted) Done() <-chan struct{} { return a.process.Done() }

func (a *attempted) Enforced() sandbox.Enforcement { return sandbox.Enforcement{} }
func (a *attempted) CPU() (time.Duration, bool)    { return 0, false }

func (a *attempted) Kill() {
	a.killed.Store(true)
	go func() { _ = a.process.Stop(0) }()
}

func (a *attempted) Close() error {
	_ = a.process.Stop(0)
	return nil
}

func (a *attempted) Exit() sandbox.Exit {
	stderr, _ := a.process.Stderr()
	e := sandbox.Exit{Stderr: []byte(stderr)}
	var exit *proc.ExitError
	if errors.As(a.process.Err(), &exit) {
		e.Code, e.Signal = exit.Code, int(exit.Signal)
		switch {
		case strings.Contains(exit.Reason, "memory"), strings.Contains(exit.Reason, "files of"):
			e.Cause = sandbox.ExitMemory
		case a.killed.Load() && exit.Signal == syscall.SIGKILL:
			e.Cause = sandbox.ExitKilled
		}
	}
	return e
}

// TestProgramEscapes makes the attempts of guests as an MCP server in a sandbox.
func TestProgramEscapes(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector does not see them")
	}
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		require.Lacking(t, "python", "%v", err)
	}
	sandboxtest.EachUser(t, func(t *testing.T) {
		policy := escape.Small(sandbox.DefaultPolicy())
		p := &programs{Programs: sandbox.NewPrograms(sandbox.ProgramOptions{}), dir: t.TempDir(), limit: policy.Memory}
		opts := escape.Options{Policy: policy, AtOnce: sandboxtest.EscapesAtOnce, Only: sandboxtest.AttemptedOnce}
		for r, err := range escape.Run(t.Context(), p, opts) {
			if err == nil {
				if r.Verdict == escape.Escaped || !slices.Contains(sometimes, r.Name) {
					r.Known = programsMay[r.Name]
				} else if r.Verdict == escape.Killed {
					continue
				}
				err = r.Err()
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
}

const (
	executes = "a program may execute what it has written"
	ordinary = "an ordinary program's limits are wider than a guest's"
	watches  = "an ordinary program may watch files, also those of the system"
	speaks   = "an ordinary program has sockets of the internet, in a network namespace without a network"
	unseen   = "a program may have memory that no watchdog sees, where there is no cgroup"
)

// programsMay is what a program may do that a guest may not, and why.
var programsMay = map[string]string{
	"dlopen_noexec":         executes,
	"ldso_noexec":           executes,
	"memfd_exec":            executes,
	"noexec_tmp":            executes,
	"noexec_workspace":      executes,
	"file_size":             ordinary,
	"tmp_fill":              ordinary,
	"workspace_fill":        ordinary,
	"inode_fill":            ordinary,
	"fd_exhaustion":         ordinary,
	"hard_limits":           ordinary,
	"fork_bomb":             ordinary,
	"thread_bomb":           ordinary,
	"thread_storm":          ordinary,
	"timers_exhaust":        ordinary,
	"socket_buffer_memory":  ordinary,
	"kernel_mem_forks":      ordinary,
	"pipe_quota":            ordinary,
	"pipe_quota_waiting":    ordinary,
	"epoll_quota":           ordinary,
	"epoll_quota_waiting":   ordinary,
	"lock_memory":           ordinary,
	"lock_memory_open":      ordinary,
	"folder_memory":         ordinary,
	"affinity_moves":        "an ordinary program chooses its processors",
	"memory_of_the_dead":    "an ordinary program may read another's memory, as debuggers do",
	"descriptors_in_flight": "an ordinary program may pass descriptors",
	"sessions_many":         "an ordinary program may make sessions, as a daemon does",
	"timers_exact":          "an ordinary program may have timers",
	"sync_disks":            "an ordinary program may have disks written out",
	"inotify_exhaust":       watches,
	"inotify_usr":           watches,
	"netlink":               speaks,
	"odd_families":          speaks,
	"clear_pdeathsig":       "the reaper alone ends a program",
	"memory_undumpable":     "a program may hide its memory, which is then counted roughly",
	"memory_dev_zero":       unseen,
	"memory_unmapped":       unseen,
	"groups":                "root's program is in group 0 of its own namespace, and in none outside",
	"become_root":           "root's program is user 0 in its own namespace, and nobody outside",
}

// sometimes are those that a cgroup, another user or the limit of memory keeps a program from.
var sometimes = []string{
	"memory_dev_zero", "memory_unmapped", "become_root", "groups", "kernel_mem_forks", "socket_buffer_memory",
	"fork_bomb", "thread_bomb", "thread_storm", "timers_exhaust",
}
