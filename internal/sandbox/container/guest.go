package container

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"codemode/internal/sandbox"
)

// A guest is one container with its guest and its init, and the engine's command that started it and
// stays attached. It has ended (done) when the init says so, or the command has; it is gone when the engine
// has removed it.
type guest struct {
	runtime *Runtime
	engine  *engine
	name    string
	means   sandbox.Enforcement
	bootArg string
	hello   greeting
	added   []string // folders of packages of this host's
	input   *input   // nil without any

	cmd     *exec.Cmd
	channel io.ReadWriteCloser
	hold    *os.File // the command's standard input: the container lives while it is open
	stderr  *os.File // the command's
	said    report   // complete when done is closed

	killed  atomic.Bool
	told    chan struct{} // closed when the init has reported
	done    chan struct{}
	gone    chan struct{}
	exit    sandbox.Exit // complete when done is closed
	tasks   sync.WaitGroup
	ending  sync.Once
	closing sync.Once
	failed  error // of the removal
	counted bool  // by Runtime.use
}

func newGuest(r *Runtime, e *engine, means sandbox.Enforcement, stdin *os.File) *guest {
	g := &guest{
		runtime: r, engine: e, name: newName(), means: means,
		told: make(chan struct{}), done: make(chan struct{}), gone: make(chan struct{}),
	}
	if stdin != nil {
		g.input = newInput(stdin)
	}
	return g
}

func (g *guest) Channel() io.ReadWriteCloser   { return g.channel }
func (g *guest) BootArg() string               { return g.bootArg }
func (g *guest) Layers() string                { return "" } // no engine is asked to show what changes
func (g *guest) SitePackages() []string        { return append(slices.Clip(g.added), g.hello.site...) }
func (g *guest) Done() <-chan struct{}         { return g.done }
func (g *guest) Exit() sandbox.Exit            { return g.exit }
func (g *guest) Enforced() sandbox.Enforcement { return g.means }

// CPU cannot be seen: an engine may be on another machine, and what the init says is no more than the guest's word.
func (g *guest) CPU() (time.Duration, bool) { return 0, false }

// Input is the caller's standard input, which the guest asks for over the channel; nil is none.
func (g *guest) Input() io.Reader {
	if g.input == nil {
		return nil
	}
	return g.input
}

// accompany starts what goes on beside a container until it is gone.
func (g *guest) accompany() {
	listened := make(chan struct{})
	g.tasks.Go(func() {
		defer close(listened)
		g.listen()
	})
	ended := make(chan struct{})
	g.tasks.Go(func() {
		defer close(ended)
		_ = g.cmd.Wait() // its state says more than the error
	})
	g.tasks.Go(func() {
		defer close(g.gone)
		g.waitForEnd(ended, listened)
	})
}

// listen reads what the command and the init say.
func (g *guest) listen() {
	buf := make([]byte, 16<<10)
	for {
		n, err := g.stderr.Read(buf)
		if g.said.add(buf[:n]) {
			close(g.told)
		}
		if err != nil {
			return
		}
	}
}

const (
	// initTime is how long the init may take to end the guest, before the engine is asked to.
	initTime = time.Second

	// cleanupTime is how long the engine may take to remove a container whose guest has ended.
	cleanupTime = 20 * time.Second

	// linger is how long a command that has ended may leave its standard error to a helper of the engine's.
	linger = time.Second
)

// waitForEnd waits until the guest or the command has ended, then sees to it that nothing is left.
func (g *guest) waitForEnd(ended, listened <-chan struct{}) {
	select {
	case <-g.told:
		g.settle()
		g.await(ended)
	case <-ended:
		timer := time.AfterFunc(linger, func() { g.stderr.Close() })
		<-listened
		timer.Stop()
		g.settle()
	}
	g.hold.Close()
	if !g.said.parsed || g.cmd.ProcessState.ExitCode() != 0 {
		// Without the init's report nobody knows what the engine did.
		g.failed = g.engine.remove(context.Background(), g.name)
	}
	g.stderr.Close()
}

// await waits for the command, which is done when the engine has removed the container.
func (g *guest) await(ended <-chan struct{}) {
	timer := time.NewTimer(cleanupTime)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		_ = g.engine.remove(context.Background(), g.name)
		_ = g.cmd.Process.Kill()
		<-ended
	}
}

// settle says how the guest ended. It is called once.
func (g *guest) settle() {
	if g.said.parsed {
		g.exit = g.said.exit
	} else {
		g.exit = sandbox.Exit{Code: g.cmd.ProcessState.ExitCode(), Stderr: g.said.chatter}
		if g.exit.Code > 128 || g.exit.Code < 0 {
			g.exit.Code, g.exit.Signal = 0, int(syscall.SIGKILL)
		}
		g.exit.Cause, g.exit.Err = sandbox.ExitEngine, g.engine.ended(g.said.chatter)
	}
	if g.killed.Load() &&
		(g.exit.Cause == sandbox.ExitEngine ||
			g.exit.Cause == sandbox.ExitSelf && g.exit.Signal == int(syscall.SIGKILL)) {
		// The error stays: who was killed because its channel had ended may have lost both to the engine.
		g.exit.Code, g.exit.Signal, g.exit.Cause = 0, int(syscall.SIGKILL), sandbox.ExitKilled
	}
	if g.input != nil {
		g.input.stop()
	}
	if c, ok := g.channel.(interface{ end() }); ok {
		c.end()
	}
	close(g.done)
}

// Kill has the init end the guest, by ending its standard input; and where that does not help soon, has
// the engine remove the container.
func (g *guest) Kill() {
	select {
	case <-g.done:
		return
	default:
	}
	g.killed.Store(true)
	g.ending.Do(func() {
		g.hold.Close()
		g.tasks.Go(func() {
			timer := time.NewTimer(initTime)
			defer timer.Stop()
			select {
			case <-g.done:
			case <-timer.C:
				g.force()
			}
		})
	})
}

// force has the engine remove the container until its command has noticed. A start that was given up may not
// have come as far as having one. An engine that does not answer is not waited for.
func (g *guest) force() {
	for wait := initTime; ; wait *= 2 {
		err := g.engine.remove(context.Background(), g.name)
		if err != nil {
			g.runtime.log.Debug("removing a container", "container", g.name, "error", err)
		}
		if errors.Is(err, errNoAnswer) || wait > removeTime {
			_ = g.cmd.Process.Kill()
		}
		timer := time.NewTimer(wait)
		select {
		case <-g.done:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// Close also waits until the engine has removed the container.
func (g *guest) Close() error {
	g.closing.Do(func() {
		g.Kill()
		<-g.gone
		g.channel.Close()
		g.hold.Close()
		g.tasks.Wait()
		if g.input != nil {
			g.input.stop()
		}
		if g.counted {
			g.runtime.unuse()
		}
	})
	return g.failed
}
