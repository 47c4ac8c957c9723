package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"codemode/internal/sandbox/helper"
	"codemode/internal/sandbox/reaper"
	"codemode/internal/sandbox/stage2"
	"codemode/internal/sandbox/watchdog"

	"golang.org/x/sys/unix"
)

// nativeSandbox is a running guest of the native runtime. One task waits for the process, one counts
// its pipes and epoll entries, one feeds its input, one may answer for new threads; all end with the process, and Close
// waits for them.
type nativeSandbox struct {
	channel  *channel
	tails    [2]*os.File
	enforced Enforcement
	site     []string
	layers   string
	work     *os.File // its WorkDir, nil where nobody looks through it
	group    *cgroup  // nil without one
	listener *os.File // of its new threads; nil where nobody is asked about them

	pid     int // as the host sees the process we started
	process *os.Process
	inner   atomic.Pointer[pidfd] // the guest itself, where it is not that process
	input   *relay
	reaper  *reaper.Reaper // ends the guest when codemode has died, or for its memory; nil until it runs

	meter cpuMeter

	settled chan struct{} // closed when the start is over, either way
	cause   atomic.Int32  // ExitCause of the first kill
	exit    Exit          // complete when done is closed
	done    chan struct{}
	tasks   sync.WaitGroup
	closing sync.Once
	undo    cleanup
}

func (s *nativeSandbox) Channel() io.ReadWriteCloser { return s.channel }
func (s *nativeSandbox) BootArg() string             { return bootArg }
func (s *nativeSandbox) PID() int                    { return s.pid } // for logs
func (s *nativeSandbox) SitePackages() []string      { return s.site }
func (s *nativeSandbox) Layers() string              { return s.layers }
func (s *nativeSandbox) Input() io.Reader            { return nil } // descriptor 0 carries it
func (s *nativeSandbox) Done() <-chan struct{}       { return s.done }
func (s *nativeSandbox) Exit() Exit                  { return s.exit }
func (s *nativeSandbox) Enforced() Enforcement       { return s.enforced }

func (s *nativeSandbox) Kill() { s.kill(ExitKilled) }

// kill ends the guest for a cause; the first one counts. The guest is the first process of its pid
// namespace, or alone: its death is everybody's.
func (s *nativeSandbox) kill(cause ExitCause) {
	s.cause.CompareAndSwap(int32(ExitSelf), int32(cause))
	s.signal(unix.SIGKILL)
}

// signal sends the sandbox's first process a signal.
func (s *nativeSandbox) signal(sig syscall.Signal) {
	if inner := s.inner.Load(); inner != nil {
		inner.signal(sig)
		return
	}
	_ = s.process.Signal(sig) // it may have ended
}

// Close also returns what is left of the guest to the system.
func (s *nativeSandbox) Close() error {
	s.closing.Do(func() {
		s.Kill()
		if s.reaper != nil {
			s.reaper.Leave() // while the kernel takes the guest's namespaces apart
		}
		<-s.done
		s.free()
	})
	return nil
}

// free returns everything of a sandbox that has ended, or never began.
func (s *nativeSandbox) free() {
	if s.channel != nil {
		s.channel.Close()
	}
	closeFiles(s.listener)
	s.tasks.Wait()
	if s.reaper != nil {
		s.reaper.Stop()
	}
	closeFiles(s.tails[:]...)
	if s.input != nil {
		s.input.free()
	}
	if inner := s.inner.Load(); inner != nil {
		inner.close()
	}
	if s.group != nil {
		s.group.remove()
	}
	s.undo.run()
}

// ended records how the process ended. Nobody of the guest is alive: the kernel ends a pid namespace
// before its first process can be waited for.
func (s *nativeSandbox) ended(state *os.ProcessState) {
	if inner := s.inner.Load(); inner != nil {
		inner.wait()
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok {
		s.exit.Code, s.exit.Signal = exitStatus(ws, s.enforced.Method)
	}
	if s.exit.Signal == int(unix.SIGKILL) {
		s.exit.Cause = ExitCause(s.cause.Load())
		if s.exit.Cause == ExitSelf && s.group != nil && s.group.outOfMemory() ||
			s.reaper != nil && s.reaper.OverLimit() {
			s.exit.Cause = ExitMemory
		}
	}
	s.exit.Stdout, s.exit.Stderr = readTail(s.tails[0]), readTail(s.tails[1])
	if s.input != nil {
		s.input.stop()
	}
	close(s.done)
}

// exitStatus splits a wait status. bubblewrap reports a signal of its child as a shell does, which
// cannot be told from such an exit code.
func exitStatus(ws syscall.WaitStatus, method string) (code, signal int) {
	if ws.Signaled() {
		return 0, int(ws.Signal())
	}
	code = ws.ExitStatus()
	if method == methodBwrap && code > 128 && code <= 128+64 {
		return 0, code - 128
	}
	return code, 0
}

// findInner learns from bubblewrap who the guest is. Killing bubblewrap would end the guest as well, but
// only some time later.
func (s *nativeSandbox) findInner(info io.Reader) error {
	var child struct {
		PID int `json:"child-pid"`
	}
	if err := json.NewDecoder(info).Decode(&child); err != nil {
		return &stage2Error{stage2.Failure{Step: "starting bubblewrap", Text: endedEarly(nil)}}
	}
	inner, err := openChild(child.PID, s.pid)
	if err != nil {
		return fmt.Errorf("starting a sandbox: opening bubblewrap's child: %w", err)
	}
	s.inner.Store(inner)
	return nil
}

// guard starts the guest's reaper. The guest has no code of the user's before it runs.
func (s *nativeSandbox) guard(pidfd int, grace time.Duration) (err error) {
	s.reaper, err = reaper.Start(helper.Execute, pidfd, grace)
	return err
}

// guardInner is guard for a guest that bubblewrap has started, if it has.
func (s *nativeSandbox) guardInner(grace time.Duration) error {
	if inner := s.inner.Load(); inner != nil {
		return s.guard(inner.fd, grace)
	}
	return nil
}

// first is the sandbox's first process.
func (s *nativeSandbox) first() int {
	if inner := s.inner.Load(); inner != nil {
		return inner.pid
	}
	return s.pid
}

// watch starts what accompanies a running guest.
func (s *nativeSandbox) watch(l *launch) {
	if s.input != nil {
		s.tasks.Go(s.input.run)
	}
	s.tasks.Go(func() { watchQuotas(s.first(), l.policy.OpenFiles, l.view.program, s.done, s.kill) })
	s.watchMemory(l)
}

// watchMemory has the reaper hold the guest to its limit of memory where no cgroup does. A guest that has lost its
// reaper is ended.
func (s *nativeSandbox) watchMemory(l *launch) {
	if l.enforced.Memory != meansWatchdog {
		return
	}
	guest := watchdog.Guest{
		PID: s.first(), Limit: l.policy.Memory, Processes: 1, Shared: l.view.program,
	}
	if !l.alone {
		guest.Dirs, guest.Sockets = l.view.writable(), !l.view.program
		guest.Processes = l.policy.Processes
	}
	s.reaper.Watch(guest)
	s.tasks.Go(func() {
		select {
		case <-s.reaper.Lost():
			s.Kill()
		case <-s.done:
		}
	})
}
