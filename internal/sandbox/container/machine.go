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

// startMachine starts the Podman machine that err says is not running, and makes one where there is none. It does so only
// with Options.Machine. It never changes what a machine is; in particular it makes none rootful.
func (r *Runtime) startMachine(ctx context.Context, e *engine, err error) error {
	var unavailable *sandbox.UnavailableError
	if !r.opts.Machine || !errors.As(err, &unavailable) || unavailable.Code != codeMachine {
		return err
	}
	progress := r.opts.Progress
	if progress == nil {
		progress = func(string) {}
	}
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
