package container

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"codemode/internal/sandbox"
)

// labelPrefix begins codemode's own labels, which nobody else sets.
const labelPrefix = "codemode."

// Labels of a container. The first is for codemode, which removes pods by it; the others are for people.
const (
	labelOwner   = "codemode.owner"
	labelSession = "codemode.session"
	labelTenant  = "codemode.tenant"
	labelPID     = "codemode.pid"
)

// An owner is the codemode that a container belongs to: on which host, and which process of it. A number
// comes to mean another process; with the time it started it does not. The host is part of it because several
// may share an engine.
type owner struct {
	host  string
	pid   int
	start string // when the process began, as its system tells it; no dots
}

func (o owner) String() string { return fmt.Sprintf("%s.%d.%s", o.host, o.pid, o.start) }

func parseOwner(s string) (o owner, ok bool) {
	f := strings.Split(strings.TrimSpace(s), ".")
	if len(f) != 3 {
		return o, false
	}
	pid, err := strconv.Atoi(f[1])
	return owner{f[0], pid, f[2]}, err == nil && pid > 0 && f[2] != ""
}

// ownerIn finds the owner in what begins with prefix, and has a dot and something else behind the owner.
func ownerIn(name, prefix string) (owner, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	o, is := parseOwner(rest[:max(0, strings.LastIndexByte(rest, '.'))])
	return o, ok && is
}

// gone tells for certain that an owner has ended. One of another host is not ours to judge.
func (o owner) gone(self owner) bool {
	return o.host == self.host && !o.running()
}

// abandoned tells for certain that nobody of this machine has a container any more. An engine elsewhere may serve
// copies of it as well, with the same name and machine-id; after a new boot docker removes what was left by itself.
func (e *engine) abandoned(o owner) bool {
	here := e.name == Podman && e.local || !hostIsLinux
	return o.gone(e.owner) && (here || o.sameBoot(e.owner))
}

// sameBoot tells for certain that two owners are of one boot of one machine. Machines made of one image have the same
// name and machine-id.
func (o owner) sameBoot(self owner) bool {
	boot, _, ok := strings.Cut(o.start, "-")
	its, _, _ := strings.Cut(self.start, "-")
	return ok && boot != "" && o.host == self.host && boot == its
}

func (e *engine) labels(spec sandbox.Spec) []string {
	return []string{
		"--label", labelOwner + "=" + e.owner.String(),
		"--label", labelPID + "=" + strconv.Itoa(e.owner.pid),
		"--label", labelSession + "=" + printable(spec.Session),
		"--label", labelTenant + "=" + printable(spec.Tenant),
	}
}

// printable keeps a label to one short line: names of sessions are chosen by agents.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == ',' || r == '"' {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(s, "_"))
	return s[:min(len(s), 64)]
}

const namePrefix = "codemode-"

// newName names a container before there is one, so that it can be removed whatever becomes of its start: by the next
// codemode, too, which finds the owner in it. A container of which only the storage is there has no labels. Names of
// pods have few dots; their labels tell of them.
func (e *engine) newName() string {
	b := make([]byte, 10)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	name := hex.EncodeToString(b)
	if e.name != Kubernetes {
		name = e.owner.String() + "." + name
	}
	return namePrefix + name
}

// removeTime bounds a removal; an engine that is busy takes a second or two.
const removeTime = 5 * time.Second

// createdLooks is how often an engine is asked to remove a container that it may be creating, within ten seconds. Who
// asks docker before it has created one is told that there is none; who had asked for it is gone, and it is created
// all the same (20.10, November 2026).
const createdLooks = 3

// removeLater tries again, ever more rarely, to remove a container that the engine did not remove in time, until it has
// been said so many times that it is not there; and a last time when the runtime is closed. For one whose conmon was
// killed, podman itself waits that long, and finds it dead the next time (4.3.1). What is left then, the next codemode
// removes.
func (r *Runtime) removeLater(e *engine, container string, looks int) {
	r.work.Go(func() {
		for wait := time.Second; looks > 0; wait = min(2*wait, time.Minute) {
			select {
			case <-time.After(wait):
				if err := e.remove(r.closing, container); err != nil {
					r.log.Debug("removing a container", "container", container, "error", err)
				} else {
					looks--
				}
			case <-r.closing.Done():
				ctx, cancel := context.WithTimeout(context.Background(), removeTime)
				defer cancel()
				_ = e.remove(ctx, container)
				return
			}
		}
	})
}

// reap removes containers of a codemode on this host that has ended without doing so. A container of somebody else's
// may have the labels of one, from an image that was made of it (`podman commit`), but never its name. One whose
// `podman run` was killed may be no more than its storage, or than its processes. What was found is removed also by a
// codemode that ends at once, in the time of one removal.
func (r *Runtime) reap(ctx context.Context, e *engine) {
	args := []string{"ps", "--all", "--filter", "name=^" + namePrefix, "--format", "{{.Names}}"}
	if e.name == Podman {
		args = append(args, "--external")
	}
	text, err := e.ask(ctx, args...)
	if err != nil {
		r.log.Debug("looking for containers that were left", "error", err)
	}
	names := append(strings.Fields(text), e.monitored()...)
	slices.Sort(names)
	removing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(removeTime, cancel) })()
	for _, name := range slices.Compact(names) {
		if o, ok := ownerIn(name, namePrefix); ok && e.abandoned(o) && removing.Err() == nil {
			r.log.Info("removing a container whose codemode has ended", "container", name, "pid", o.pid)
			if err := e.remove(removing, name); err != nil {
				r.log.Warn("removing a container whose codemode has ended", "container", name, "error", err)
				r.removeLater(e, name, 1)
			}
		}
	}
}

// remove ends a container and removes it. One that is not there is fine.
func (e *engine) remove(ctx context.Context, container string) error {
	if e.name == Kubernetes {
		return e.removePod(ctx, container, false)
	}
	ctx, cancel := withAnswer(ctx, removeTime)
	defer cancel()
	args := []string{"rm", "--force", "--volumes"}
	if e.name == Podman {
		args = append(args, "--ignore", "--time", "0")
	}
	args = append(append(append([]string(nil), e.global...), args...), container)
	for {
		_, err := e.run(ctx, nil, args...)
		switch {
		case err == nil || strings.Contains(err.Error(), "No such container"):
			e.endForgotten(ctx, container)
			return nil
		case !removable(err):
			return err
		}
		select { // docker removes it by itself (--rm): it is gone when that is done
		case <-time.After(removePause):
		case <-ctx.Done():
			return err
		}
	}
}

// removable tells of a removal that did not succeed because the container was just ending: docker removes it by itself,
// and podman had nobody to stop any more.
func removable(err error) bool {
	return strings.Contains(err.Error(), "already in progress") || strings.Contains(err.Error(), "could not be stopped")
}

// removePause is the time between two looks at a container that the engine is removing.
const removePause = 20 * time.Millisecond
