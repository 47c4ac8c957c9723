package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"codemode/internal/sandbox/sandboxtest"
)

const engineKilled = "engine killed"

// TestEngines has each engine die or stand still, in every way that is its own, under codemodes whose guests are in its
// containers; and has those codemodes be killed.
func TestEngines(t *testing.T) {
	length := 3 * time.Second // of each engine
	switch {
	case *forFlag > 0:
		length = *forFlag
	case all():
		length = 15 * time.Second
	}
	theirs := filepath.Join(forAnybody(t), "results.json")
	sandboxtest.EachEngine(t, func(t *testing.T, command, feature string) {
		e := newEngine(t, command, feature)
		faults := map[string]injection{}
		for _, b := range e.blows() {
			faults[b.name] = func(c *codemode) error { return c.m.falls(c, b) }
		}
		for _, name := range []string{"SIGTERM", "SIGKILL"} {
			faults[name] = func(c *codemode) error { return c.m.moment(signals[name]) }
		}
		names := slices.Sorted(maps.Keys(faults))
		sideBySide(t, 1, 1, e, func(m *machine) {
			over := time.Now().Add(length)
			for {
				for _, i := range m.rng.Perm(len(names)) {
					if time.Now().After(over) || t.Failed() {
						return
					}
					m.meets(engineKilled, faults[names[i]])
				}
			}
		})
	}, fmt.Sprintf("-seed=%d", seed()), fmt.Sprintf("-for=%v", *forFlag), "-results="+theirs)
	addResults(t, theirs)
}

// forAnybody is a folder where the user of rootless podman can write.
func forAnybody(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "chaos-results-")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// addResults adds what the other user's process has seen, if there was one.
func addResults(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var more Results
	if err = errors.Join(err, json.Unmarshal(text, &more)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	results.Seconds += more.Seconds
	results.Runs, results.Saved, results.Lines = results.Runs+more.Runs, results.Saved+more.Saved, results.Lines+more.Lines
	for name, s := range more.Faults {
		seen := results.Faults[name]
		results.Faults[name] = Seen{seen.Times + s.Times, seen.Failed + s.Failed, max(seen.Slowest, s.Slowest)}
	}
	t.Logf("with the ordinary user's: %+v", results)
}

// engineStages are what a session may be at when its engine is struck.
var engineStages = map[string]func(m *machine, c *codemode, b blow) error{
	"starts": (*machine).fallsInStart, "runs": (*machine).fallsInRun, "idles": (*machine).fallsIdle,
	"ends": (*machine).fallsAtEnd,
}

// falls has a blow come at a random moment.
func (m *machine) falls(c *codemode, b blow) error {
	names := slices.Sorted(maps.Keys(engineStages))
	stage := names[m.rng.IntN(len(names))]
	if b.all {
		defer c.forAll()()
	}
	if b.hangs && !all() && *forFlag == 0 { // what hangs for long takes long
		var stop func()
		b, stop = b.forAWhile(3 * time.Second)
		defer stop()
	}
	began := time.Now()
	err := engineStages[stage](m, c, b)
	m.t.Logf("%s while the session %s: %v", b.name, stage, time.Since(began).Round(10*time.Millisecond))
	if err != nil {
		return fmt.Errorf("%s while the session %s: %w", b.name, stage, err)
	}
	return nil
}

// forAWhile is a blow that heals by itself, unless it is stopped before.
func (b blow) forAWhile(d time.Duration) (brief blow, stop func()) {
	var healing sync.WaitGroup
	over, strike := make(chan struct{}), b.strike
	b.strike = func(e *engine, at target) error {
		healing.Go(func() {
			select {
			case <-time.After(d):
				_ = b.heal(e, at)
			case <-over:
			}
		})
		return strike(e, at)
	}
	return b, func() {
		close(over)
		healing.Wait()
	}
}

// What becomes of a run: its engine died, or its time was over.
const (
	engineDied = `^status: error\nexit: 125\n`
	timeWasOut = `^status: timeout\n`
)

func (r result) is(want string) error {
	if r.err != nil || !r.failed || !regexp.MustCompile(want).MatchString(r.text) {
		return fmt.Errorf("want %q: %w", want, r.wrong())
	}
	return nil
}

// fallsInRun has it come in the midst of Python, or of a call.
func (m *machine) fallsInRun(c *codemode, b blow) error {
	at, err := c.container("victim")
	if err != nil {
		return err
	}
	want, timeout := engineDied, 20
	if b.hangs {
		want, timeout = timeWasOut, 2
	}
	code, delay := under[m.rng.IntN(len(under))], time.Duration(
		50+m.rng.IntN(300),
	)*time.Millisecond // the run has begun by then
	struck := make(chan error, 1)
	time.AfterFunc(delay, func() { struck <- b.strike(m.engine, at) })
	got := c.run("victim", code, timeout)
	return errors.Join(<-struck, got.is(want), m.overcomes(c, b, at))
}

// fallsInStart has it come while a container of a session is being started, or of the pool; or in the run that follows.
func (m *machine) fallsInStart(c *codemode, b blow) error {
	session, code := fmt.Sprintf("new%d", m.rng.Uint32()), under[m.rng.IntN(len(under))]
	delay, hang := time.Duration(m.rng.IntN(1500))*time.Millisecond, time.Duration(m.rng.IntN(6000))*time.Millisecond
	before := processes()
	done := make(chan result, 1)
	go func() { done <- c.run(session, code, 3) }()
	at, pooled := c.starting(session, before)
	if pooled && !b.all {
		defer c.forAll()() // whoever gets it
	}
	<-time.After(delay)
	_ = b.strike(m.engine, at) // there may be no container yet
	var got result
	select {
	case got = <-done:
	case <-time.After(hang):
		if b.hangs { // half a minute is what a start may take
			_ = b.heal(m.engine, at)
		}
		got = <-done
	}
	err := errors.Join(got.is(engineDied+"|"+timeWasOut), m.overcomes(c, b, at))
	if end := c.run(session, "import os; os._exit(0)", 20); end.err != nil { // or ever more of them would be there
		err = errors.Join(err, end.wrong())
	}
	return err
}

// fallsIdle has it come between two runs. The next is in its midst, or has a container of its own.
func (m *machine) fallsIdle(c *codemode, b blow) error {
	at, err := c.container("victim")
	if err != nil {
		return err
	}
	delay := time.Duration(m.rng.IntN(1000)) * time.Millisecond
	err = b.strike(m.engine, at)
	<-time.After(delay)
	if got := c.run("victim", "1", 4); got.err != nil || got.failed {
		err = errors.Join(err, got.is(engineDied+"|"+timeWasOut))
	}
	return errors.Join(err, m.overcomes(c, b, at))
}

// fallsAtEnd has it come when the client has gone.
func (m *machine) fallsAtEnd(c *codemode, b blow) error {
	at, err := c.container("victim")
	if err != nil {
		return err
	}
	delay := time.Duration(m.rng.IntN(200)) * time.Millisecond
	c.leave()
	<-time.After(delay)
	_ = b.strike(m.engine, at) // it may have gone
	return errors.Join(c.ends(), m.overcomes(c, b, at))
}

// overcomes has an engine that was struck work again, and sees to it that nothing is left of what has died with it.
// Until then no run hangs.
func (m *machine) overcomes(c *codemode, b blow, at target) (err error) {
	if b.all && !c.over() {
		if got := c.run("other", "1", 4); got.err != nil || got.failed {
			err = got.is(engineDied + "|" + timeWasOut)
		}
	}
	if b.heal != nil {
		err = errors.Join(err, b.heal(m.engine, at))
	}
	if !b.hangs && !eventually(func() bool { return !m.engine.has(at.name) }) {
		err = errors.Join(err, fmt.Errorf("container %s is still there", at.name))
	}
	return err
}
