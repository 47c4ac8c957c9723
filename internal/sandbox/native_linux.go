package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
)

// native is the native runtime. What it learns about the machine is behind mu; nothing is done under
// the lock.
type native struct {
	python    PythonSource
	log       *slog.Logger
	isolation Isolation
	guests    guestFiles
	groups    cgroups

	mu     sync.Mutex
	method string  // how namespaces could be made, "" before the first start
	report *Report // of a successful probe
}

func newNative(opts NativeOptions) Runtime {
	return &native{
		python:    opts.Python,
		log:       opts.Log,
		isolation: opts.Isolation,
		guests:    guestFiles{root: filepath.Join(opts.CacheDir, "guest")},
	}
}

func (n *native) Name() string { return nativeName }

// Close does nothing: whatever the runtime starts belongs to a sandbox.
func (n *native) Close() error { return nil }

// Start tries the ways to make namespaces until one works, and remembers it.
func (n *native) Start(ctx context.Context, spec Spec) (Sandbox, error) {
	sb, err := n.start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return sb, nil
}

func (n *native) start(ctx context.Context, spec Spec) (*nativeSandbox, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	py, err := n.interpreter(ctx, spec.Policy)
	if err != nil {
		return nil, err
	}
	dir, err := n.guests.dir(ctx, spec.Files, py)
	if err != nil {
		return nil, err
	}
	var first error
	for _, method := range n.methods(spec.Policy.Isolation) {
		enforced, gaps := Effective(spec.Policy, n.offer(method, spec.Policy.Isolation, py))
		if len(gaps) > 0 {
			return nil, &GapError{Runtime: nativeName, Gaps: gaps}
		}
		sb, err := n.launch(ctx, spec, py, dir, enforced)
		if err == nil {
			n.remember(method)
			n.log.DebugContext(ctx, "sandbox started", "pid", sb.pid, "method", method)
			return sb, nil
		}
		if first == nil {
			first = err
		}
		if !namespacesRefused(err) {
			break
		}
		n.log.DebugContext(ctx, "namespaces refused", "method", method, "error", err)
	}
	return nil, first
}

// checkSpec refuses what a caller can get wrong.
func checkSpec(spec Spec) error {
	switch spec.Policy.Isolation {
	case IsolationFull, IsolationReduced:
	default:
		return fmt.Errorf("starting a sandbox: unknown isolation %q", spec.Policy.Isolation)
	}
	if spec.Files == nil {
		return errors.New("starting a sandbox: no files")
	}
	if !fs.ValidPath(spec.Boot) {
		return fmt.Errorf("starting a sandbox: boot file %q is not a path below %s", spec.Boot, GuestDir)
	}
	return nil
}

// interpreter prepares the Python that a policy names.
func (n *native) interpreter(ctx context.Context, p Policy) (*Python, error) {
	source := n.python
	if p.Interpreter != "" {
		source.Interpreter = p.Interpreter
	}
	py, err := source.Python(ctx)
	if err != nil && ctx.Err() == nil {
		return nil, pythonUnavailable(source.Interpreter, err)
	}
	return py, err
}

// methods lists the ways to make namespaces worth trying, best first.
func (n *native) methods(i Isolation) []string {
	if i == IsolationReduced {
		return []string{methodNone}
	}
	n.mu.Lock()
	known := n.method
	n.mu.Unlock()
	if known != "" {
		return []string{known}
	}
	if _, err := bwrapPath(); err == nil {
		return []string{methodUserns, methodBwrap}
	}
	return []string{methodUserns}
}

func (n *native) remember(method string) {
	if method == methodNone {
		return
	}
	n.mu.Lock()
	n.method = method
	n.mu.Unlock()
}

// bwrapPath finds the system's bubblewrap. Its usual place comes first: what is earlier on PATH may
// lack the AppArmor profile that makes it worth trying.
func bwrapPath() (string, error) {
	if p, err := exec.LookPath("/usr/bin/bwrap"); err == nil {
		return p, nil
	}
	return exec.LookPath("bwrap")
}

// bootPath is the file the interpreter runs, below the directory where the guest sees its files.
func bootPath(dir, boot string) string { return path.Join(dir, boot) }
