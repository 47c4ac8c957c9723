package hostile

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

	"codemode/internal/bridge"
	"codemode/internal/config"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/escape"
	"codemode/internal/servers"
)

const (
	patience = 2 * time.Minute // for what ends by itself, however busy the machine
	clock    = 2 * time.Second // the deadline of an attempt that must be stopped by it
)

// byTheClock begins what an attempt expects that does not end before its deadline.
const byTheClock = "by the clock"

// A scene is one attempt while it is made: bridges for its tenants, and the decoys they must not start.
type scene struct {
	attempt escape.Attempt
	cells   []cell
	opts    Options
	dir     string
	bridges map[string]*bridge.Bridge
	before  []json.RawMessage // the values of the cells so far
	lost    bool              // the sandbox of the last cell
	asked   []bridge.Question // of the user, in the last cell

	unanswered map[string]int // calls of a tenant's runs, as their receipts say
}

func newScene(opts Options, dir string, a escape.Attempt) (*scene, error) {
	all, err := cells(a)
	s := &scene{
		attempt: a, cells: all, opts: opts, dir: filepath.Join(dir, a.Name), bridges: map[string]*bridge.Bridge{},
		unanswered: map[string]int{},
	}
	return s, errors.Join(err, os.Mkdir(s.dir, 0o700))
}

// play makes the attempt. What is found by looking counts more than what the attempt says.
func (s *scene) play(ctx context.Context) (verdict escape.Verdict, detail string) {
	defer func() {
		if err := s.close(); err != nil {
			verdict, detail = escape.Escaped, err.Error()
		}
	}()
	end := func() {}
	defer func() { end() }()
	for i, c := range s.cells {
		if next := i + 1; next < len(s.cells) && s.cells[next].beside {
			end = s.goOn(ctx, c)
			continue
		}
		received := s.received(c.tenant)
		o := s.run(ctx, c)
		end()
		if err := s.entitled(o, s.received(c.tenant)[len(received):]); err != nil {
			return escape.Escaped, err.Error()
		}
		if err := s.told(c.tenant, o); err != nil {
			return escape.Escaped, err.Error()
		}
		verdict, detail = s.judge(o)
		if verdict == escape.Escaped {
			return verdict, detail
		}
	}
	if err := s.aftermath(ctx); err != nil {
		return escape.Escaped, err.Error()
	}
	return verdict, detail
}

// The servers of a tenant. A run may call the first, unless its attempt says otherwise; no other may be started by
// anything a run does, but in the tenant whose runs search: a search looks at the tools of all servers.
const (
	open      = "open"
	closed    = "closed"
	searching = "searching"
)

func (s *scene) bridge(tenant string) *bridge.Bridge {
	if b, ok := s.bridges[tenant]; ok {
		return b
	}
	c := settings(s.opts.Policy)
	c.Tenant = tenant
	b := bridge.New(bridge.Options{
		Config:   c,
		Runtime:  shared{s.opts.Runtime},
		StateDir: s.dir,
		ToolsDir: s.tools(tenant),
		Version:  "escape",
		Servers: servers.Always(
			s.decoy(tenant, open), s.decoy(tenant, closed), s.decoy(tenant, "of-"+tenant), s.notes(tenant),
		),
		Lookup: func(string) (string, bool) { return "", false },
	})
	s.bridges[tenant] = b
	return b
}

// shared is a runtime that its owner closes.
type shared struct{ sandbox.Runtime }

func (shared) Close() error { return nil }

// decoy is a server that leaves a file when it is started, and ends.
func (s *scene) decoy(tenant, name string) config.Server {
	return config.Server{Name: name, Command: "/bin/sh", Args: []string{"-c", `: >"$1"`, "sh", s.mark(tenant, name)}}
}

func (s *scene) mark(tenant, name string) string {
	return filepath.Join(s.dir, "started-"+tenant+"-"+name)
}

// tools is the folder of a tenant's saved tools.
func (s *scene) tools(tenant string) string { return filepath.Join(s.dir, "tools-"+tenant) }

func (s *scene) run(ctx context.Context, c cell) bridge.Outcome {
	timeout := patience
	if strings.HasPrefix(s.attempt.Expect, byTheClock) {
		timeout = clock
	}
	servers := []string{}
	if c.server != "" {
		servers = append(servers, c.server)
	}
	s.asked = nil
	var mu sync.Mutex
	decline := func(_ context.Context, q bridge.Question) (bridge.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		s.asked = append(s.asked, q)
		return bridge.No, nil
	}
	o := s.bridge(c.tenant).Run(ctx, bridge.Request{
		Code: s.code(c), Session: c.session, Servers: servers, Timeout: timeout, Ask: decline,
	})
	s.before = append(s.before, o.Value)
	s.lost = o.Lost
	return o
}

// goOn has a cell run beside what follows, until end.
func (s *scene) goOn(ctx context.Context, c cell) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	request := bridge.Request{Code: s.code(c), Session: c.session, Servers: []string{}, Timeout: patience}
	work.Go(func() { s.bridge(c.tenant).Run(ctx, request) })
	<-time.After(clock / 2) // until it is in full swing
	return func() {
		cancel()
		work.Wait()
	}
}

// code puts the helpers of session.py, and the values of the cells before, in front of a cell's own lines.
func (s *scene) code(c cell) string {
	for i, value := range s.before {
		if value == nil {
			s.before[i] = json.RawMessage("null")
		}
	}
	return fmt.Sprintf(
		"exec(%s); before = json.loads(%s)\n%s", encode(escape.Helpers()), encode(string(encode(s.before))), c.code,
	)
}

// encode writes a value as JSON, which for a string is a Python literal, too.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of strings, and values that were JSON
	}
	return b
}

// aftermath holds that the bridge works on: a fresh sandbox as ever, and the session that was attacked by giving an
// answer, if only one that it is lost. No server was started that no run may call.
func (s *scene) aftermath(ctx context.Context) error {
	next := func(session string, timeout time.Duration) bridge.Outcome {
		return s.bridge("a").
			Run(ctx, bridge.Request{Code: "40 + 2", Session: session, Servers: []string{}, Timeout: timeout})
	}
	o := next("a", clock)
	if o.Status == bridge.StatusTimeout { // it may still be busy with what has been answered
		o = next("a", patience)
		if o.Status == bridge.StatusTimeout {
			return fmt.Errorf("the session attacked does not answer: %s", text(o, "compact"))
		}
	}
	if !s.lost || o.Repr != "42" { // else it has answered from a fresh one
		o = next("fresh", patience)
	}
	if o.Repr != "42" {
		return fmt.Errorf("a fresh session: %s", text(o, "compact"))
	}
	started, err := filepath.Glob(filepath.Join(s.dir, "started-*"))
	if err != nil {
		return err
	}
	started = slices.DeleteFunc(started, func(name string) bool {
		allowed := func(c cell) bool { return name == s.mark(c.tenant, c.server) }
		return strings.HasPrefix(name, s.mark(searching, "")) || slices.ContainsFunc(s.cells, allowed)
	})
	if len(started) > 0 {
		return fmt.Errorf("servers were started that no run may call: %v", started)
	}
	return nil
}

// close ends the bridges, within a time that only a hang exceeds.
func (s *scene) close() error {
	done := make(chan error, 1)
	go func() {
		var failed []error
		for _, b := range s.bridges {
			failed = append(failed, b.Close())
		}
		done <- errors.Join(failed...)
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return errors.New("the bridge does not close")
	}
}
