// Package container is the runtimes podman, docker and kubernetes: each guest in a container of its own, which for the
// last is a pod, started by the engine's command line.
//
// It owns the containers that carry its labels on this host, from the command that starts one until the
// engine has removed it, and the guest's init inside. It never speaks an engine's API. Of this host's files a guest
// gets what its Spec names (Mounts, Packages), and a local docker's the folder of its channel's socket. One without
// them needs no path here to exist where the container runs, so that the engine may be anywhere.
// Closing a sandbox removes its container; [Runtime.Close] waits for what is still being removed. What a
// codemode that was killed has left is removed at the first start of the next.
package container

import (
	"context"
	"log/slog"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"codemode/internal/sandbox"
)

// Options say which engine to use and how.
type Options struct {
	Engine   string // "podman", "docker", "kubernetes", or the path of one's command
	Image    string // any that has python3 3.9 or later on its PATH
	User     string // uid:gid inside; empty is nobody, 65534:65534
	CacheDir string // where the engine finds the system call filter
	Log      *slog.Logger

	// Missing pulls an image that is not there, as part of the start that needs it, telling Progress.
	// Otherwise such a start fails with code "image-missing".
	Missing  bool
	Progress func(line string) // empty at the end

	// Machine allows to make and start a Podman machine where podman needs one that is not running. What was started
	// here is stopped when no guest has been there for Idle, and by Close; Idle 0 is by Close alone.
	Machine bool
	Idle    time.Duration

	Kubernetes KubernetesOptions // for that engine alone
	AllowGaps  []string          // of servers' pods, which have no policy that could name them

	// LookPath finds a command; nil is exec.LookPath. Lookup reads codemode's environment, which decides where
	// docker's daemon is; nil is an empty one. The engine itself inherits all of it, a container nothing.
	LookPath func(name string) (string, error)
	Lookup   func(name string) (string, bool)
}

// Names of the engines.
const (
	Podman     = "podman"
	Docker     = "docker"
	Kubernetes = "kubernetes"

	kubectl = "kubectl" // the command of the last
)

// Nobody is the user of a container that the options name none for.
const Nobody = "65534:65534"

// Runtime is one engine with one image.
type Runtime struct {
	opts Options
	name string // Podman or Docker
	log  *slog.Logger

	lock    chan struct{} // holds one token; taken while somebody gets the engine ready
	mu      sync.Mutex
	known   *engine       // nil before the first success
	machine *engine       // whose Podman machine this runtime has started; nil when it has not
	guests  int           // started, or starting, and not closed
	sleep   *time.Timer   // stops an idle machine
	answer  time.Duration // how long its command may take for a question
	streams bool          // the shortest way to a guest does not work here
	volumes []string      // of the image; nil before docker was asked
	payload payloads
	slots   chan struct{} // holds a token for each start under way; one that was given up holds it to its end

	closing context.Context // ends when Close begins
	end     context.CancelFunc
	work    sync.WaitGroup // starts given up and containers being removed
}

// New returns a runtime. It does nothing until it is used. Close it.
func New(opts Options) *Runtime {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.User == "" {
		opts.User = Nobody
	}
	if opts.LookPath == nil {
		opts.LookPath = exec.LookPath
	}
	if opts.Lookup == nil {
		opts.Lookup = func(string) (string, bool) { return "", false }
	}
	r := &Runtime{
		opts: opts, name: engineName(opts.Engine), log: opts.Log, answer: answerTime, lock: make(chan struct{}, 1),
	}
	if r.name == Kubernetes {
		r.answer = podAnswerTime
		r.opts.Missing = false                    // nodes fetch images themselves
		r.slots = make(chan struct{}, podsAtOnce) // most of a start is waiting
	} else {
		r.slots = make(chan struct{}, max(2, runtime.NumCPU()))
	}
	r.closing, r.end = context.WithCancel(context.Background())
	r.lock <- struct{}{}
	return r
}

// podsAtOnce is how many pods are started at a time.
const podsAtOnce = 8

// engineName is which engine a command is, by its name: "/opt/podman/bin/podman-remote", "docker.exe".
func engineName(command string) string {
	base := strings.ToLower(filepath.Base(command))
	switch {
	case strings.Contains(base, Docker):
		return Docker
	case base == Kubernetes, strings.Contains(base, kubectl):
		return Kubernetes
	}
	return Podman
}

// Name is "podman", "docker" or "kubernetes".
func (r *Runtime) Name() string { return r.name }

// Probe asks the engine what it can enforce. It starts no container.
func (r *Runtime) Probe(ctx context.Context) (sandbox.Report, error) {
	e, err := r.ready(ctx)
	if err != nil {
		return sandbox.Report{}, err
	}
	return e.report(r.opts.Image), nil
}

// Close waits for containers that are still being removed. Sandboxes are closed by their owners.
func (r *Runtime) Close() error {
	r.end()
	r.work.Wait()
	<-r.lock // who stops an idle machine has done so
	defer func() { r.lock <- struct{}{} }()
	r.mu.Lock()
	if r.sleep != nil {
		r.sleep.Stop()
	}
	r.mu.Unlock()
	if e := r.engine(); e != nil && e.name == Kubernetes {
		r.mu.Lock()
		r.known = nil
		r.mu.Unlock()
		return e.release(context.Background(), e.owner.String(), true)
	}
	return r.stopMachine()
}

// ready returns the engine, asking it what it is on first use. Only success is remembered: what was in the
// way may be repaired while codemode runs.
func (r *Runtime) ready(ctx context.Context) (*engine, error) {
	if e := r.engine(); e != nil {
		return e, nil
	}
	select {
	case <-r.lock:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { r.lock <- struct{}{} }()
	if e := r.engine(); e != nil {
		return e, nil
	}
	e, err := r.find(ctx)
	if err == nil && e.name == Kubernetes {
		err = e.takeLease(ctx)
	}
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.known = e
	r.mu.Unlock()
	if e.name == Kubernetes {
		r.work.Go(func() { r.tend(r.closing, e) })
	} else {
		r.work.Go(func() { r.reap(r.closing, e) })
	}
	return e, nil
}

func (r *Runtime) engine() *engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}
