package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"path/filepath"
	"sync"

	"codemode/internal/sandbox/python"
)

// native is the native runtime. What it learns about the machine is behind mu; nothing is done under
// the lock.
type native struct {
	python    python.Source
	log       *slog.Logger
	isolation Isolation
	guests    python.Trees
	groups    cgroups
	ahead     *Ahead

	mu     sync.Mutex
	method string  // how namespaces could be made, "" before the first start
	report *Report // of a successful probe
}

func newNative(opts NativeOptions) Runtime {
	return &native{
		python:    opts.Python,
		log:       opts.Log,
		isolation: opts.Isolation,
		ahead:     opts.Ahead,
		guests:    python.Trees{Root: filepath.Join(opts.CacheDir, "guest")},
	}
}

func (n *native) Name() string { return nativeName }

// Close does nothing: whatever the runtime starts belongs to a sandbox.
func (n *native) Close() error { return nil }

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
	dir, err := n.guests.Dir(ctx, spec.Files, py)
	if err != nil {
		return nil, cacheUnavailable(err)
	}
	if err := CheckMounts(nativeName, spec.Mounts); err != nil {
		return nil, err
	}
	if p := spec.Packages; p.Host != "" {
		if p.ABI != py.Tag {
			again := []string{"to have them again: codemode packages update"}
			return nil, &PackagesError{nativeName, py.Tag, p.ABI, again}
		}
		py = py.With(p.Host)
	}
	if spec.Packages.Layers != "" {
		py = py.WithLayers(spec.Packages.Layers)
	}
	sb, err := n.attempt(ctx, spec.Policy, func(e Enforcement) (*nativeSandbox, error) {
		l := &launch{policy: spec.Policy, enforced: e, view: guestView(spec, py, dir, e)}
		return n.launch(ctx, l, func() (*stdio, error) { return openStdio(spec.Stdin, spec.StdinLock) })
	})
	if err != nil {
		return nil, err
	}
	n.log.DebugContext(ctx, "sandbox started", "pid", sb.pid, "method", sb.enforced.Method)
	return sb, nil
}

// attempt tries the ways to make namespaces until one works, and remembers it.
func (n *native) attempt(
	ctx context.Context, p Policy, start func(Enforcement) (*nativeSandbox, error),
) (*nativeSandbox, error) {
	var first error
	for _, method := range n.methods(p.Isolation) {
		enforced, gaps := Effective(p, n.offer(method, p.Isolation))
		if len(gaps) > 0 {
			return nil, &GapError{Runtime: nativeName, Gaps: gaps}
		}
		sb, err := start(enforced)
		if err == nil {
			n.remember(method)
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
func (n *native) interpreter(ctx context.Context, p Policy) (*python.Interpreter, error) {
	source := n.python
	if p.Interpreter != "" {
		source.Interpreter = p.Interpreter
	}
	py, err := source.Prepare(ctx)
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
