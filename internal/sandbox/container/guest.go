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

// A guest is one container, with init.py and the guest in it, and the engine's command that started it and stays
// attached. (Package guest is what runs inside.) done is closed when init.py has reported the guest's end, or the
// command has ended; gone, when the engine has removed the container.
type guest struct {
	runtime *Runtime
	engine  *engine
	name    string
	pod     string // the name of its pod
	means   sandbox.Enforcement
	bootArg string
	hello   greeting
	added   []string // folders of packages of this host's
	input   *input   // the caller's standard input for the guest, pulled over the channel; nil is none

	cmd     *exec.Cmd
	channel io.ReadWriteCloser
	stdin   *os.File // of the engine's command, held open: its end tells init.py to kill the guest
	stderr  *os.File // the command's
	said    report   // complete when done is closed

	killed  atomic.Bool
	greeted atomic.Bool
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
		runtime: r, engine: e, name: e.newName(), means: means,
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
	g.stdin.Close()
	if g.said.parsed && g.engine.name == Kubernetes {
		g.runtime.work.Go(func() { // its last process has ended; what is left is for people to see
			if err := g.engine.removePod(context.Background(), g.name, true); err != nil {
				g.runtime.log.Debug("removing a pod", "pod", g.name, "error", err)
			}
		})
	} else if !g.said.parsed || g.cmd.ProcessState.ExitCode() != 0 {
		// Without the init's report nobody knows what the engine did.
		if g.engine.name == Kubernetes && !g.killed.Load() {
			g.failed = g.engine.abandonPod(g.name)
		} else {
			g.failed = g.engine.remove(context.Background(), g.name)
		}
		if g.engine.name != Kubernetes && g.cmd.ProcessState.ExitCode() < 0 && !g.greeted.Load() {
			g.runtime.removeLater(g.engine, g.name, createdLooks) // its command was killed
		} else if g.failed != nil {
			g.runtime.removeLater(g.engine, g.name, 1)
		}
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
		if g.engine.name == Kubernetes {
			g.exit.Stderr = nil // kubectl's own words, by no means the program's
		}
		if g.exit.Code > 128 || g.exit.Code < 0 {
			g.exit.Code, g.exit.Signal = 0, int(syscall.SIGKILL)
		}
		if g.engine.name == Kubernetes && g.greeted.Load() && !g.killed.Load() {
			g.exit.Code, g.exit.Signal = 0, int(syscall.SIGKILL)
			g.exit.Cause, g.exit.Err = g.engine.whyEnded(g.pod, g.said.chatter)
		} else {
			g.exit.Cause, g.exit.Err = sandbox.ExitEngine, g.engine.ended(g.said.chatter, g.cmd.ProcessState.ExitCode())
		}
	}
	if g.killed.Load() && g.killedByUs() {
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

// killedByUs tells whether an end that was reported after Kill is Kill's doing. In a pod the standard input whose end
// has the init kill the guest is the guest's channel, too: the guest may have read that end first, and been done.
func (g *guest) killedByUs() bool {
	switch e := &g.exit; e.Cause {
	case sandbox.ExitEngine:
		return true
	case sandbox.ExitSelf:
		return e.Signal == int(syscall.SIGKILL) || g.engine.name == Kubernetes && e.Code == 0 && e.Signal == 0
	default:
		return false
	}
}

// Kill closes the standard input of the engine's command, at whose end init.py kills the guest (its function watch). If
// that has not happened within initTime, the engine is told to remove the container (force).
func (g *guest) Kill() {
	select {
	case <-g.done:
		return
	default:
	}
	g.killed.Store(true)
	g.ending.Do(func() {
		g.stdin.Close()
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

// force has the engine remove the container, again and again until its command has ended: a start that was given up may
// not have created the container yet. If the engine does not answer, or takes long, its command is killed.
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
		g.stdin.Close()
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
