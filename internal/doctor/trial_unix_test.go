//go:build unix

package doctor

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codemode/internal/require"
	"codemode/internal/sandbox"
)

// sieve is a runtime that holds a guest to nothing: Python as it is on this machine.
type sieve struct{ dir string }

func (sieve) Name() string { return "sieve" }

func (sieve) Probe(context.Context) (sandbox.Report, error) {
	return sandbox.Report{
		Runtime: "sieve", Method: "userns", Seccomp: true, Memory: "cgroup", Pids: "cgroup", CPUs: "cgroup",
	}, nil
}

func (sieve) Close() error { return nil }

// Start gives the guest a root of its own to spoil, and less memory to take.
func (s sieve) Start(_ context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	script := filepath.Join(s.dir, spec.Boot)
	code, err := fs.ReadFile(spec.Files, spec.Boot)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(script, code, 0o644); err != nil {
		return nil, err
	}
	name, value, _ := strings.Cut(spec.Env[0], "=")
	facts := map[string]any{}
	if err := json.Unmarshal([]byte(value), &facts); err != nil {
		return nil, err
	}
	facts["root"], facts["memory"], facts["processes"] = s.dir, 16<<20, 5
	text, err := json.Marshal(facts)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	g := &open{cmd: exec.Command("/usr/bin/python3", script, "fd:3:4:5"), said: r, done: make(chan struct{})}
	g.cmd.Env = []string{name + "=" + string(text)}
	g.cmd.ExtraFiles = []*os.File{w}
	err = g.cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	g.work.Go(func() {
		_ = g.cmd.Wait()
		close(g.done)
	})
	return g, nil
}

// open is a guest of sieve's.
type open struct {
	sandbox.Sandbox // of which a trial uses no more than is here
	cmd             *exec.Cmd
	said            *os.File
	done            chan struct{}
	work            sync.WaitGroup
}

func (g *open) Channel() io.ReadWriteCloser   { return g.said }
func (g *open) Done() <-chan struct{}         { return g.done }
func (g *open) Exit() sandbox.Exit            { return sandbox.Exit{Code: g.cmd.ProcessState.ExitCode()} }
func (g *open) Kill()                         { _ = g.cmd.Process.Kill() }
func (g *open) Enforced() sandbox.Enforcement { return sandbox.Enforcement{} }
func (g *open) CPU() (time.Duration, bool)    { return 0, false }

func (g *open) Close() error {
	g.Kill()
	g.work.Wait()
	return g.said.Close()
}

// TestTrialSeesEscapes holds that every attempt is one that succeeds where nothing is in its way.
func TestTrialSeesEscapes(t *testing.T) {
	if err := exec.Command("/usr/bin/python3", "-c", "pass").Run(); err != nil {
		require.Lacking(t, "python", "no python3: %v", err)
	}
	r := &Runtime{Runtime: sieve{t.TempDir()}, Policy: sandbox.DefaultPolicy(), Used: true}
	x := r.examine(t.Context())
	if x.trialErr != nil {
		t.Fatal(x.trialErr)
	}
	if x.trial.python == "" {
		t.Error("the guest's Python has no version")
	}
	if x.trial.cutShort != "" {
		t.Error(x.trial.cutShort)
	}
	escaped := x.trial.escaped()
	for _, a := range attempts {
		found := false
		for _, e := range escaped {
			found = found || e.Attempt == a.name
		}
		if !found {
			t.Errorf("%s: the attempt was not seen to succeed in %v", a.name, x.trial.attempts)
		}
	}
	if f := r.limits(x, nil); f.Verdict != Failed || len(f.Details) != len(attempts) {
		t.Errorf("the finding is %+v", f)
	}
	if f := choice(t.Context(), []*Runtime{r}); f.Verdict != Failed {
		t.Errorf("codemode would use it: %+v", f)
	}
}

// TestTrialEndsEarly holds that what was not tried is not passed over.
func TestTrialEndsEarly(t *testing.T) {
	made := trial{attempts: []attempt{{"network", true, ""}, {"files", true, ""}, {"root", true, ""}}}
	for _, tt := range []struct {
		all  int
		exit sandbox.Exit
		want string
	}{
		{tried(sandbox.Enforcement{Memory: "none", Pids: "none"}), sandbox.Exit{}, ""},
		{
			tried(sandbox.Enforcement{Memory: "cgroup", Pids: "none"}),
			sandbox.Exit{Code: 1},
			"the guest ended with exit code 1, signal 0, before 1 of its 4 attempts",
		},
		{
			tried(sandbox.Enforcement{Memory: "watchdog", Pids: "rlimit"}),
			sandbox.Exit{Signal: 9, Cause: sandbox.ExitMemory},
			"the guest ended with exit code 0, signal 9, at the limit of memory, before 2 of its 5 attempts",
		},
	} {
		got := made
		if got.cut(tt.exit, tt.all); got.cutShort != tt.want {
			t.Errorf("%q, want %q", got.cutShort, tt.want)
		}
	}
}
