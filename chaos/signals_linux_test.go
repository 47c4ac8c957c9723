package chaos

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// signals end codemode, each in its own way.
var signals = map[string]syscall.Signal{
	"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT, "SIGHUP": syscall.SIGHUP, "SIGKILL": syscall.SIGKILL,
}

// stages are what codemode may be at when a signal comes, and the time from the beginning of that within which it does.
var stages = []struct {
	name   string
	within time.Duration
	begin  func(c *codemode)
}{
	{"start", 200 * time.Millisecond, nil},
	{"call", 400 * time.Millisecond, runs("await mcp_steady.slow(ms=99000)")},
	{"first call of a server", 150 * time.Millisecond, runs("await mcp_wrong.echo(message='x')")},
	{"save_tool", 100 * time.Millisecond, func(c *codemode) {
		for !c.over() {
			c.save("victim", "victim")
		}
	}},
	{"audit", 400 * time.Millisecond, runs("for i in range(300): await mcp_steady.echo(message=str(i))")},
	{"python", 300 * time.Millisecond, runs("while True: pass")},
	{"a new session", 150 * time.Millisecond, func(c *codemode) { c.run("another", "1", 30) }},
	{"idle", 50 * time.Millisecond, func(*codemode) {}},
	{"shutdown", 100 * time.Millisecond, func(c *codemode) { c.in.Close() }},
	{"shutdown by a signal", 100 * time.Millisecond, func(c *codemode) { _ = c.cmd.Process.Signal(syscall.SIGTERM) }},
}

func runs(code string) func(*codemode) {
	return func(c *codemode) { c.run("victim", code, 30) }
}

// moment has a signal come at a random moment of a stage.
func (m *machine) moment(s syscall.Signal) error {
	stage := stages[m.rng.IntN(len(stages))]
	delay := time.Duration(m.rng.Int64N(int64(stage.within) * int64(m.pace)))
	err := m.strike(stage.begin, s, delay)
	if err != nil {
		return fmt.Errorf("%v %v after the beginning of %s: %w", s, delay, stage.name, err)
	}
	return nil
}

func (m *machine) strike(begin func(*codemode), s syscall.Signal, delay time.Duration) error {
	if begin == nil {
		if err := m.rest(); err != nil {
			return err
		}
		c := m.start(m.path("cache"))
		<-time.After(delay)
		c.signal(s)
		return m.settle()
	}
	c, err := m.alive()
	if err != nil {
		return err
	}
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		begin(c)
	}()
	<-time.After(delay)
	c.signal(s)
	err = c.ends() // without its client's help
	<-begun
	return errors.Join(err, m.settle())
}

// unpacked has a signal come while Python is unpacked, some times, and then waits for it.
func (m *machine) unpacked(s syscall.Signal, times int) error {
	if err := m.rest(); err != nil {
		return err
	}
	cache := m.path("unpacking")
	if err := os.Mkdir(cache, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	for range times {
		c := m.start(cache)
		if err := c.connect(); err != nil {
			return err
		}
		done := make(chan result, 1)
		go func() { done <- c.run("victim", "1", 30) }()
		<-time.After(time.Duration(m.rng.IntN(4000)) * time.Millisecond)
		told := time.Now()
		c.signal(s)
		err := c.ends()
		took := time.Since(told)
		<-done
		if err := errors.Join(err, m.settle()); err != nil {
			return err
		}
		if s != unix.SIGKILL {
			m.t.Logf("%v while Python is unpacked: it ended after %v", s, took)
		}
	}
	c := m.start(cache)
	if err := c.connect(); err != nil {
		return err
	}
	err := c.does("print(6 * 7)", 30, false, "^42")
	c.leave()
	err = errors.Join(err, m.settle())
	if temps, _ := os.ReadDir(cache + "/codemode/python"); len(temps) != 2 { // the lock and the distribution
		err = errors.Join(err, fmt.Errorf("in the cache: %v", temps))
	}
	return err
}
