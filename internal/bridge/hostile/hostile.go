// Package hostile makes those attempts of the corpus of sandbox/escape that need a whole session: what code sends
// over the channel, what it does to its interpreter, what its results pretend, and what it leaves for others.
//
// Each gets bridges of its own over a runtime that stays the caller's, with decoy servers that no run may start. It
// never trusts an attempt's word alone: after each the session must work on, and results must be clean.
package hostile

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strings"
	"time"

	"codemode/internal/config"
	"codemode/internal/policy"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/escape"
)

// Options say how attempts are made.
type Options struct {
	Runtime sandbox.Runtime
	Policy  sandbox.Policy
	AtOnce  int                       // attempts; at least one
	Only    func(escape.Attempt) bool // nil makes all of them
}

// Run makes every attempt of a session, and yields what came of each.
func Run(ctx context.Context, opts Options) iter.Seq2[escape.Result, error] {
	return func(yield func(escape.Result, error) bool) {
		attempts, known, err := escape.Plan(ctx, opts.Runtime, escape.InSession, opts.Policy, opts.Only)
		if err != nil {
			yield(escape.Result{}, err)
			return
		}
		dir, err := os.MkdirTemp("", "codemode-hostile-")
		if err != nil {
			yield(escape.Result{}, err)
			return
		}
		defer os.RemoveAll(dir)
		try := func(ctx context.Context, a escape.Attempt) (escape.Verdict, string) {
			s, err := newScene(opts, dir, a)
			if err != nil {
				return escape.Broken, err.Error()
			}
			return s.play(ctx)
		}
		for r := range escape.Drive(ctx, attempts, opts.AtOnce, try) {
			r.Known = known[r.Name]
			if !yield(r, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(escape.Result{}, err)
		}
	}
}

// settings are those of a bridge whose sandboxes have a policy.
func settings(p sandbox.Policy) config.Config {
	return config.Config{
		Sandbox: config.Sandbox{
			Memory: p.Memory, Pids: p.Processes, CPUs: p.CPUs, TmpSize: p.TmpSize, WorkSize: p.WorkSize,
			Isolation: string(p.Isolation), AllowGaps: p.AllowGaps, Python: p.Interpreter,
		},
		Run:     config.Run{Timeout: patience, MaxTimeout: patience, Grace: clock / 4},
		Output:  config.Output{Mode: "compact", Limit: 32 << 10, Keep: 64 << 20},
		Servers: config.Servers{StartTimeout: 20 * time.Second, CallTimeout: 20 * time.Second},
		Tools:   config.Tools{Save: true},
		Policy: config.Policy{
			Rules: policy.Rules{
				Deny: []string{notes + ".erase_note"}, Confirm: []string{notes + ".delete_note"}, Questions: questions,
			},
			ConfirmTimeout: patience,
		},
	}
}

// A cell is the code of one run, and where it runs.
type cell struct {
	tenant, session string
	server          string // that the run may call; empty for none
	beside          bool   // it runs while the one before it does, which is then ended
	code            string
}

// cells splits an attempt at its lines "# %% session b" and "# %% tenant b". What is before the first one is the
// first run of session a; a session that is named again has its next run. What is more, as "of closed", says which
// server the run may call; "of -" is none. "beside session b" is run while the one before it goes on.
func cells(a escape.Attempt) ([]cell, error) {
	all := []cell{{tenant: "a", session: "a", server: open}}
	for line := range strings.Lines(a.Source) {
		last := &all[len(all)-1]
		mark, found := strings.CutPrefix(line, "# %% ")
		if !found {
			last.code += line
			continue
		}
		mark, beside := strings.CutPrefix(strings.TrimSpace(mark), "beside ")
		where, server, chosen := strings.Cut(mark, " of ")
		if !chosen {
			server = open
		}
		switch kind, name, _ := strings.Cut(where, " "); {
		case kind == "session" && name != "":
			all = append(all, cell{tenant: "a", session: name, server: strings.Trim(server, "-"), beside: beside})
		case kind == "tenant" && name != "":
			all = append(all, cell{tenant: name, session: "a", server: strings.Trim(server, "-"), beside: beside})
		default:
			return nil, fmt.Errorf("%s: %q is neither a session nor a tenant", a.Name, strings.TrimSpace(line))
		}
	}
	return all, nil
}
