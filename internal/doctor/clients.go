package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"codemode/internal/clientcfg"
	"codemode/internal/upstream"
)

// Clients starts codemode as each client's entry says, and has it run code. opts are for starting servers; self is the
// file of the codemode that runs, and may be empty.
func Clients(entries []clientcfg.Entry, opts upstream.Options, self string) Check {
	return Check{
		Name: "client", Proves: "that clients' entries start codemode",
		Examine: func(ctx context.Context, found func(Finding)) {
			own := ownEntries(entries)
			if len(own) == 0 {
				found(
					Finding{
						Verdict: Skipped,
						Summary: "no client here starts codemode; `codemode install` registers it",
					},
				)
				return
			}
			opts.Servers, opts.AsClient = servers(own), true
			pool := upstream.NewPool(opts)
			defer pool.Close()
			findings := make([]Finding, len(own))
			done := make([]chan struct{}, len(own))
			var work sync.WaitGroup
			room := make(chan struct{}, manyClients)
			for i, e := range own {
				done[i] = make(chan struct{})
				work.Go(func() {
					defer close(done[i])
					room <- struct{}{}
					defer func() { <-room }()
					findings[i] = client(ctx, pool, e, opts.Servers[i].Name, self)
				})
			}
			defer work.Wait()
			for i := range own {
				<-done[i]
				found(findings[i])
			}
		},
	}
}

// manyClients is how many codemodes are started at once: each of them starts a sandbox.
const manyClients = 4

// client has the codemode of one entry compute something.
func client(ctx context.Context, pool *upstream.Pool, e clientcfg.Entry, name, self string) Finding {
	f := Finding{Subject: e.Client, Verdict: OK}
	where := fmt.Sprintf("%q in %q", e.Written, e.Server.Source)
	install := []string{"codemode install " + e.Client}
	switch {
	case clientcfg.StartsOriginal(e.Server) && !e.Server.Disabled:
		f.Verdict, f.Remedy = Warning, replacing(e)
		f.Summary = where + " starts the Python original, whose place codemode takes"
		return f
	case e.Scope == clientcfg.Project:
		f.Verdict, f.Summary = Skipped, where+" came with the project, and is not started"
		return f
	case e.Server.Disabled:
		f.Verdict, f.Summary = Skipped, where+" is switched off there"
		return f
	}
	began := time.Now()
	result, err := pool.Call(ctx, name, "run_python", json.RawMessage(`{"code": "print(40+2)"}`))
	switch {
	case errors.Is(err, upstream.ErrNoCommand):
		f.Verdict, f.Remedy = Failed, install
		f.Summary = fmt.Sprintf("%s starts %q, which is not there", where, e.Server.Command)
	case err != nil:
		f = broken(e.Client, err, install)
		f.Summary = fmt.Sprintf("%s: %s", where, strings.ReplaceAll(f.Summary, fmt.Sprintf("server %q: ", name), ""))
	default:
		f.Summary = fmt.Sprintf("%s runs Python after %s", where, seconds(time.Since(began)))
		if wrong := answer(result); wrong != "" {
			f.Verdict, f.Summary = Failed, fmt.Sprintf("%s starts, but does not run Python: %s", where, wrong)
		} else if other := another(e.Server.Command, self); other != "" {
			f.Verdict, f.Summary, f.Remedy = Warning, fmt.Sprintf(
				"%s starts another codemode, %q", where, other,
			), install
		}
	}
	return f
}

// replacing is how codemode takes the place of the Python original: in the file of a client that codemode can be put
// in.
func replacing(e clientcfg.Entry) []string {
	all := clientcfg.Clients()
	n := slices.IndexFunc(all, func(c clientcfg.Client) bool { return c.ID == e.Client })
	if n < 0 || all[n].Install.None != "" {
		return []string{
			fmt.Sprintf("remove it from %q: codemode does not start it, and neither should others", e.Server.Source),
		}
	}
	command := "codemode install " + e.Client
	if e.Scope == clientcfg.Project {
		command += " --scope project"
	}
	return []string{command + " --yes"}
}

// answer is empty when print(40+2) printed 42, and else what came instead.
func answer(result json.RawMessage) string {
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) == 0 {
		return "it answered nothing"
	}
	text := r.Content[0].Text
	if !r.IsError && strings.Contains(text, "42") {
		return ""
	}
	for line := range strings.Lines(text) {
		if why, ok := strings.CutPrefix(line, "error: "); ok {
			return strings.TrimSpace(why)
		}
	}
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// another is the command where it is a path to another program than this one. One that is looked up, or started by a
// launcher, may be any.
func another(command, self string) string {
	if self == "" || !filepath.IsAbs(command) {
		return ""
	}
	its, err := os.Stat(command)
	ours, err2 := os.Stat(self)
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(command)), ".exe")
	if err != nil || err2 != nil || name != "codemode" || os.SameFile(its, ours) {
		return ""
	}
	return command
}
