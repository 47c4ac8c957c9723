package sandbox

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"codemode/internal/sandbox/helper"
	"codemode/internal/sandbox/python"
	"codemode/internal/sandbox/stage2"

	"golang.org/x/sys/unix"
)

//go:embed selfcheck.py
var selfcheck embed.FS

// probeTime bounds a probe; it takes tens of milliseconds once Python is in the cache.
const probeTime = 30 * time.Second

var errProbeTime = fmt.Errorf("the sandbox did not answer within %v", probeTime)

// Probe starts a sandbox that examines itself. Only success is remembered: what was in the way may be
// repaired while codemode runs.
func (n *native) Probe(ctx context.Context) (Report, error) {
	n.mu.Lock()
	known := n.report
	n.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	r, err := n.probe(ctx)
	if err != nil {
		return Report{}, err
	}
	n.mu.Lock()
	n.report = &r
	n.mu.Unlock()
	return r, nil
}

func (n *native) probe(ctx context.Context) (Report, error) {
	policy := DefaultPolicy()
	policy.Isolation = n.isolation
	policy.AllowGaps = []string{"memory", "pids"} // to be reported, not to fail here
	// Preparing Python may take a while the first time, and is not what is measured.
	py, err := n.interpreter(ctx, policy)
	if err != nil {
		return Report{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeTime, errProbeTime)
	defer cancel()
	begin := time.Now()
	sb, err := n.start(ctx, Spec{Session: "probe", Files: selfcheck, Boot: "selfcheck.py", Policy: policy})
	if err != nil {
		return Report{}, err
	}
	defer sb.Close()
	defer context.AfterFunc(ctx, sb.Kill)()
	b, err := io.ReadAll(io.LimitReader(sb.Channel(), 64<<10))
	if err == nil {
		err = context.Cause(ctx)
	}
	<-sb.Done()
	if err != nil {
		return Report{}, fmt.Errorf("probing runtime %q: %w", nativeName, err)
	}
	took := time.Since(begin)
	found, err := readRestrictions(b, sb.Exit(), n.isolation)
	if err != nil {
		return Report{}, &UnavailableError{
			Runtime: nativeName, Code: "self-check", Step: "checking a sandbox from inside", Err: err,
		}
	}
	r := n.offer(sb.Enforced().Method, n.isolation)
	r.Proc, r.Start, r.Python = found.Proc, took, py.Exe
	if err := helper.Refused(); err == nil {
		r.Helper = true
	} else if !errors.Is(err, helper.ErrAbsent) {
		r.Refused = err.Error()
	}
	if py.Embedded {
		r.Python = "embedded " + py.Version
	}
	return r, nil
}

// restrictions are what selfcheck.py found.
type restrictions struct {
	UID           int    `json:"uid"`
	PID           int    `json:"pid"`
	Proc          bool   `json:"proc"`
	Capabilities  string `json:"capabilities"`
	NoNewPrivs    string `json:"noNewPrivs"`
	Seccomp       string `json:"seccomp"`
	Network       bool   `json:"network"`
	WritableRoot  bool   `json:"writableRoot"`
	WritableFiles bool   `json:"writableFiles"`
}

// readRestrictions judges what a sandbox said about itself.
func readRestrictions(b []byte, exit Exit, isolation Isolation) (restrictions, error) {
	var w restrictions
	if err := json.Unmarshal(b, &w); err != nil {
		return w, fmt.Errorf(
			"no answer (exit code %d, signal %d)%s", exit.Code, exit.Signal, python.LastLine(string(exit.Stderr)),
		)
	}
	full := isolation == IsolationFull
	switch {
	case full && w.UID != guestID:
		return w, fmt.Errorf("the guest is user %d", w.UID)
	case full && w.PID != 1:
		return w, fmt.Errorf("the guest is process %d", w.PID)
	case full && w.Proc && strings.Trim(w.Capabilities, "0") != "":
		return w, fmt.Errorf("the guest has capabilities %s", w.Capabilities)
	case w.Proc && w.NoNewPrivs != "1":
		return w, errors.New("the guest can gain privileges")
	case w.Proc && w.Seccomp != "2":
		return w, errors.New("the guest has no system call filter")
	case w.Network:
		return w, errors.New("the guest can make network sockets")
	case w.WritableRoot || w.WritableFiles:
		return w, errors.New("the guest can write to its root")
	}
	return w, nil
}

// offer is what the machine lets a method enforce, found without starting anything.
func (n *native) offer(method string, isolation Isolation) Report {
	release := kernelRelease()
	r := Report{
		Runtime:  nativeName,
		Version:  "Linux " + release,
		Method:   method,
		Landlock: stage2.LandlockABI(),
		Seccomp:  stage2.HasFilters(),
		Memory:   meansWatchdog,
		Pids:     meansNone,
		CPUs:     meansNone,
		Rootless: os.Geteuid() != 0,
	}
	switch {
	case isolation == IsolationReduced:
		r.Pids = meansSeccomp
	case atLeast(release, 5, 14): // since then RLIMIT_NPROC counts those of a user namespace, and not of a user
		r.Pids = meansRlimit
	}
	if n.groups.offers("memory") {
		r.Memory, r.Pids = meansCgroup, meansCgroup
	}
	if n.groups.offers("cpu") {
		r.CPUs = meansCgroup
	}
	return r
}

func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// atLeast compares a kernel's release, such as "6.18.44-generic".
func atLeast(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a > major || a == major && b >= minor
}
