package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"codemode/internal/bridge"
	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/mount"

	"github.com/urfave/cli/v3"
)

// How often serve looks whether files have changed. A look reads every file that may name a server, which takes a
// millisecond or two: cheaper to do than a watch on folders that may not be there yet.
const (
	lookEvery = 2 * time.Second
	lookShare = 1000                   // where a look takes long, the pause is so many times as long,
	lookLate  = 10 * time.Second       // but no longer than this: on a busy machine everything takes long
	lookAgain = 250 * time.Millisecond // what differs has to look the same twice: somebody may still be writing it
)

// reloader brings a bridge's servers up to date with the files they come from. It belongs to one goroutine.
type reloader struct {
	env     Env
	cmd     *cli.Command
	bridge  *bridge.Bridge
	log     *slog.Logger
	started config.Config // the settings the process runs with
	applied *tenancy
	told    map[string]bool // the problems of applied
	failure string          // why the last look brought nothing
	asked   chan chan struct{}
	granted []sandbox.Mount // of the last look
	only    bool            // what is granted counts, and nothing else
}

// withdrawing looks as long as a program runs that may change folders: it ends when a server is started from one by
// now. The program keeps its servers. stop waits for the last look.
func (t *tenancy) withdrawing(ctx context.Context, cmd *cli.Command, b *bridge.Bridge) (stop func()) {
	if !slices.ContainsFunc(t.requests(), func(w mount.Request) bool { return w.Write }) {
		return func() {}
	}
	mounts, _ := t.mounts() // an error is the program's
	r := &reloader{
		env: t.env, cmd: cmd, bridge: b, log: slog.New(slog.DiscardHandler), applied: t, granted: mounts, only: true,
	}
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() { r.run(ctx) })
	return func() { cancel(); looking.Wait() }
}

// newReloader tells the problems there are.
func newReloader(t *tenancy, cmd *cli.Command, b *bridge.Bridge, log *slog.Logger) *reloader {
	r := &reloader{
		env: t.env, cmd: cmd, bridge: b, log: log, started: t.config, applied: t, asked: make(chan chan struct{}),
	}
	r.tell(t)
	r.granted = t.granted
	return r
}

// run looks again and again until ctx ends.
func (r *reloader) run(ctx context.Context) {
	seen, pause := r.applied, lookEvery
	for {
		select {
		case <-time.After(pause):
		case done := <-r.asked:
			if next, ok := r.look(); ok {
				seen = next
				r.apply(next)
			}
			close(done)
			continue
		case <-ctx.Done():
			return
		}
		began := time.Now()
		next, ok := r.look()
		pause = min(max(lookEvery, lookShare*time.Since(began)), lookLate)
		switch {
		case ok && r.withdraw(next):
			pause = lookAgain
		case !ok, r.only:
		case !sameFindings(seen, next):
			seen, pause = next, lookAgain
		case seen != r.applied:
			r.apply(seen)
		}
	}
}

// withdraw ends the sandboxes that may change what neither this look nor the one before grants, and tells whether this
// one grants less.
func (r *reloader) withdraw(t *tenancy) (less bool) {
	t.sessionProblems() // looks for what is granted
	r.bridge.Withdraw(slices.Concat(r.granted, t.granted))
	less = slices.ContainsFunc(r.granted, func(before sandbox.Mount) bool {
		same := func(m sandbox.Mount) bool { return m.Write && m.Host == before.Host }
		return before.Write && !slices.ContainsFunc(t.granted, same)
	})
	r.granted = t.granted
	return less
}

// reload has the files looked at now, and returns when the bridge has what they say.
func (r *reloader) reload(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case r.asked <- done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	<-done
	return nil
}

// look reads everything anew. While the settings cannot be read, everything stays as it is.
func (r *reloader) look() (*tenancy, bool) {
	next, err := openTenancy(r.env, r.cmd)
	if err != nil {
		if text := err.Error(); text != r.failure {
			r.failure = text
			r.log.Warn("the servers stay as they are: "+text, "hint", strings.Join(hint.Of(err), "; "))
		}
		return nil, false
	}
	r.failure = ""
	next.inputs = r.applied.inputs
	next.keepUnread(r.applied)
	return next, true
}

// keepUnread takes over the servers of a file, or of a folder's files, that is there but cannot be read any more:
// neither a typing error in it nor a moment without descriptors is a reason to stop them.
func (t *tenancy) keepUnread(before *tenancy) {
	t.keepTaken(before)
	for _, p := range t.found.Problems {
		inFile := func(e clientcfg.Entry) bool { return e.Server.Source == p.File }
		if p.Server != "" || errors.Is(p.Err, fs.ErrNotExist) || slices.ContainsFunc(t.found.Entries, inFile) {
			continue
		}
		kept := false
		for _, s := range before.usable {
			if (s.Source == p.File || filepath.Dir(s.Source) == p.File) && !slices.Contains(names(t.usable), s.Name) {
				t.usable, kept = append(t.usable, s), true
			}
		}
		if kept && !p.Own() { // whose problems nobody else tells
			t.problems = append(t.problems, fmt.Errorf("its servers stay as they were: %w", p))
		}
	}
	t.keepNames(before)
}

// keepTaken has no server take the name of another, or lose the one it had, while it is in doubt whose name it is.
func (t *tenancy) keepTaken(before *tenancy) {
	for i := range t.found.Entries {
		e := &t.found.Entries[i]
		name := e.Server.Name
		other, doubted := e.Server.Doubted[name]
		took := func(s config.Server) bool {
			same := s.Source == e.Server.Source
			return s.Name == name && !same || s.Name == other && same
		}
		if !doubted || !slices.ContainsFunc(before.usable, took) {
			continue
		}
		e.Server = called(e.Server, other)
		for i, s := range t.usable {
			if s.Name == name {
				t.usable[i] = called(s, other)
			}
		}
	}
}

// called is a server by the name that it has if its own is another's.
func called(s config.Server, other string) config.Server {
	s.Doubted = maps.Clone(s.Doubted)
	delete(s.Doubted, s.Name)
	if len(s.Doubted) == 0 {
		s.Doubted = nil
	}
	s.Name = other
	return s
}

// keepNames has what was known of servers when all could be read hold while their names are in doubt, unless more has
// become known since.
func (t *tenancy) keepNames(before *tenancy) {
	known := map[string]config.Server{}
	for _, s := range before.usable {
		if s.Unread == "" {
			known[s.Name] = s
		}
	}
	has := func(s config.Server, names []string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(s.Names(), name) })
	}
	for i, s := range t.usable {
		was, ok := known[s.Name]
		if same := s; ok && s.Unread != "" && has(was, s.Also) {
			same.Also, same.Unread, same.Doubted = was.Also, was.Unread, was.Doubted
			if same.Sandbox == nil {
				same.Sandbox = was.Sandbox
			}
			if reflect.DeepEqual(same, was) {
				t.usable[i] = was
			}
		}
	}
	sameSandbox := slices.Equal(t.config.Servers.Sandbox, before.config.Servers.Sandbox)
	for _, e := range t.found.Entries {
		was, ok := known[e.Server.Name]
		if !ok || e.Status != withheld || !has(was, e.Server.Also) || !sameSandbox || !t.config.Servers.Selects(was) {
			continue
		}
		if e.Server = was; t.mistaken(e) == "" { // an entry with a mistake may have come, by a name that was not known
			t.usable = append(t.usable, was)
		}
	}
}

// sameFindings compares what two looks have brought.
func sameFindings(a, b *tenancy) bool {
	return reflect.DeepEqual(a.usable, b.usable) && reflect.DeepEqual(a.config, b.config) &&
		reflect.DeepEqual(a.findings(), b.findings()) &&
		reflect.DeepEqual(a.unusable(), b.unusable()) && a.doubts() == b.doubts()
}

// findings are the texts that are told of a look.
func (t *tenancy) findings() (texts []string) {
	for _, p := range t.sessionProblems() {
		texts = append(texts, p.Error())
	}
	for _, s := range t.found.Skipped {
		texts = append(texts, s.Server.Name+" "+s.Reason)
	}
	return texts
}

// apply makes what was found the servers of the bridge.
func (r *reloader) apply(t *tenancy) {
	before := r.applied
	r.applied = t
	r.tell(t)
	if needsRestart(r.started, t.config) && needsRestart(before.config, t.config) {
		r.log.Warn("settings have changed that apply after a restart of codemode serve")
	}
	if t.config.Tenant != r.started.Tenant {
		return // whose servers are not this one's
	}
	r.granted = t.granted // which tell has looked for
	r.bridge.Withdraw(t.granted)
	if c := r.bridge.Servers().Update(t.configured()); !c.None() {
		r.log.Info("servers changed", "added", c.Added, "removed", c.Removed, "changed", c.Changed)
	}
}

// needsRestart says whether settings differ in more than where servers are found and which they are.
func needsRestart(a, b config.Config) bool {
	for _, c := range []*config.Config{&a, &b} {
		c.Servers = config.Servers{StartTimeout: c.Servers.StartTimeout, CallTimeout: c.Servers.CallTimeout}
		c.Discovery, c.Problems, c.Lines = config.Discovery{}, nil, nil
		c.Policy.Places, c.Files.Places, c.Files.Own = nil, nil, nil
	}
	return !reflect.DeepEqual(a, b)
}

// tell logs the problems that were not there before.
func (r *reloader) tell(t *tenancy) {
	before := r.told
	r.told = map[string]bool{}
	for _, text := range t.findings() {
		r.told[text] = true
	}
	for _, p := range t.sessionProblems() {
		if !before[p.Error()] {
			r.log.Warn(p.Error(), "hint", strings.Join(hint.Of(p), "; "))
		}
	}
	for _, s := range t.found.Skipped {
		if !before[s.Server.Name+" "+s.Reason] {
			r.log.Debug("a server was skipped", "server", s.Server, "reason", s.Reason)
		}
	}
}
