package container

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"codemode/internal/sandbox"
)

// machineStop bounds the stop of a Podman machine.
const machineStop = 30 * time.Second

// startMachine starts the Podman machine that err says is not running, and makes one where there is none. It does so
// only with Options.Machine. It never changes what a machine is; in particular it makes none rootful.
func (r *Runtime) startMachine(ctx context.Context, e *engine, err error) error {
	var unavailable *sandbox.UnavailableError
	if !r.opts.Machine || !errors.As(err, &unavailable) || unavailable.Code != codeMachine {
		return err
	}
	progress := r.progress()
	defer progress("")
	r.log.Info("starting the Podman machine")
	_, err = e.run(ctx, progress, "machine", "start")
	if err != nil && strings.Contains(err.Error(), "does not exist") {
		if _, err = e.run(ctx, progress, "machine", "init"); err == nil {
			_, err = e.run(ctx, progress, "machine", "start")
		}
	}
	if err != nil && !strings.Contains(err.Error(), "already running") {
		return e.diagnose("starting the Podman machine", err)
	}
	if err == nil {
		r.mu.Lock()
		r.machine = e
		r.mu.Unlock()
	}
	return e.askPodman(ctx)
}

// use counts a guest that starts; the caller calls unuse when it has ended. A machine is not stopped meanwhile.
func (r *Runtime) use() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guests++
	if r.sleep != nil {
		r.sleep.Stop()
		r.sleep = nil
	}
}

// unuse has the machine stopped, if this runtime started it, when nothing starts for Options.Idle.
func (r *Runtime) unuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guests--
	if r.guests == 0 && r.machine != nil && r.opts.Idle > 0 && r.closing.Err() == nil {
		r.sleep = time.AfterFunc(r.opts.Idle, r.rest)
	}
}

// rest stops an idle machine. The next start finds the engine anew, and starts it again.
func (r *Runtime) rest() {
	select {
	case <-r.lock: // nobody gets ready meanwhile, and Close waits
	default:
		return
	}
	defer func() { r.lock <- struct{}{} }()
	r.mu.Lock()
	idle := r.guests == 0 && r.closing.Err() == nil
	if idle {
		r.known = nil
	}
	r.mu.Unlock()
	if !idle {
		return
	}
	r.log.Info("stopping the idle Podman machine")
	if err := r.stopMachine(); err != nil {
		r.log.Warn("an idle Podman machine goes on", "error", err)
	}
}

// stopMachine stops the machine if this runtime started it.
func (r *Runtime) stopMachine() error {
	r.mu.Lock()
	e := r.machine
	r.machine = nil
	r.mu.Unlock()
	if e == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), machineStop)
	defer cancel()
	if _, err := e.run(ctx, nil, "machine", "stop"); err != nil {
		return fmt.Errorf("stopping the Podman machine: %w", err)
	}
	return nil
}
