// Package proc is child processes that really end: the process, its group and what it left behind.
//
// It never knows what it runs. The caller that starts a process stops it; when [Process.Stop] returns, the
// process and all its descendants are gone.
//
// # When codemode is killed
//
// On Linux and macOS every process runs below a guard (package guard), which ends it when codemode
// has died, SIGKILL included. On Linux that holds for any descendant, on macOS for the process group. On Windows
// the process is in a job object that the system ends with codemode's last handle to it.
//
// What that costs on Linux (6.18, 2 cores, a binary of 53 MB, November 2026): 2.7 ms a start, and 1.0 MiB of
// memory that is not codemode's own pages shared. BenchmarkStart measures it with the smaller test binary.
// One guard for all servers would save most of that, and would have to be their parent to find what they
// leave behind: a second program to start, wait for and stop processes in, through messages.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"codemode/internal/fileerr"
)

// Spec says what to start.
type Spec struct {
	Path string   // the program, absolute
	Args []string // its arguments, without its own name
	Env  []string // its whole environment; nothing is inherited
	Dir  string   // where it starts; must exist

	// Start, when set, is how the process is started, in place of this package's own way.
	Start Starter

	// Hurry, when closed, ends Stop's grace period: processes that are still there are killed.
	Hurry <-chan struct{}

	// StderrLine, when set, is called with each line of standard error as it comes, from one goroutine. A line
	// longer than 8 KiB is cut there: its rest could begin in the middle of a secret. It must not block.
	StderrLine func(line string, cut bool)

	// StderrPace, when set, is called after each read of so many bytes, and may wait before the next. What a process
	// that has ended has left is read at once.
	StderrPace func(bytes int)
}

// A Starter starts what a Spec says, with those standard streams, which stay the caller's. ctx bounds the start alone.
type Starter func(ctx context.Context, spec Spec, streams [3]*os.File) (Family, error)

// Guarded is this package's own way, for a Starter that starts another program than it was asked to.
func Guarded(ctx context.Context, spec Spec, streams [3]*os.File) (Family, error) {
	return startFamily(ctx, spec, streams)
}

// A Family is a process and all its descendants.
type Family interface {
	Pid() int    // of the process
	Root() int   // of what all of them are below, or of the process; 0 where they run elsewhere
	Wait() error // returns when nobody is left: nil or an *ExitError, about the process
	Terminate()  // asks the process to end
	Kill()       // ends everybody
	Abandon()    // ends everybody when Kill was not enough
	Close()      // frees what is left of a family that has ended
}

// A Process is running until Done is closed. Its methods may be called from any goroutine.
type Process struct {
	family Family // the process and its descendants
	stdin  *os.File
	stdout *os.File
	stderr *tail
	done   chan struct{}
	exit   error // set before done is closed
	hurry  <-chan struct{}

	stop    sync.Once
	stopped chan struct{}
}

// ExitError is a process that ended otherwise than with exit code 0.
type ExitError struct {
	Code   int            // exit code, when Signal is 0
	Signal syscall.Signal // what killed it
	Reason string         // why it was killed, where that is known
}

func (e *ExitError) Error() string {
	if e.Reason != "" {
		return e.Reason
	}
	if e.Signal != 0 {
		return "killed by signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Start starts a process. ctx bounds the start alone. The caller calls Stop, also when the process has
// ended by itself.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if info, err := os.Stat(spec.Dir); err != nil {
		return nil, fmt.Errorf("entering directory %q: %w", spec.Dir, fileerr.Cause(err))
	} else if !info.IsDir() {
		return nil, fmt.Errorf("entering directory %q: %w", spec.Dir, syscall.ENOTDIR)
	}
	p := &Process{
		stderr: newTail(spec.StderrLine, spec.StderrPace), done: make(chan struct{}), stopped: make(chan struct{}),
		hurry: spec.Hurry,
	}
	theirs, err := p.openStreams()
	if err != nil {
		return nil, fmt.Errorf("executing %q: %w", spec.Path, err)
	}
	start := spec.Start
	if start == nil {
		start = startFamily
	}
	p.family, err = start(ctx, spec, theirs)
	closeAll(theirs[:])
	if err != nil {
		closeAll([]*os.File{p.stdin, p.stdout, p.stderr.source})
		return nil, fmt.Errorf("executing %q: %w", spec.Path, err)
	}
	go p.stderr.read()
	go p.wait()
	return p, nil
}

// openStreams makes the three pipes, keeps this side's ends and returns the other's.
func (p *Process) openStreams() (theirs [3]*os.File, err error) {
	var ours [3]*os.File
	for fd := range theirs {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:])
			closeAll(theirs[:])
			return theirs, err
		}
		if fd == 0 {
			ours[fd], theirs[fd] = w, r
		} else {
			ours[fd], theirs[fd] = r, w
		}
	}
	p.stdin, p.stdout, p.stderr.source = ours[0], ours[1], ours[2]
	return theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// stderrLinger is how long a process that has ended may keep its standard error open by a descendant
// that cannot be killed.
const stderrLinger = time.Second

// wait ends when the process, its descendants and its standard error have ended.
func (p *Process) wait() {
	defer close(p.done)
	p.exit = p.family.Wait()
	p.stderr.ended.Store(true)
	linger := time.AfterFunc(stderrLinger, func() { p.stderr.source.Close() })
	<-p.stderr.done
	linger.Stop()
	p.stderr.source.Close()
}

// Pid is the process id, for people.
func (p *Process) Pid() int { return p.family.Pid() }

// Root is the id of what the process and its descendants are below, or its own; 0 where they run elsewhere.
func (p *Process) Root() int { return p.family.Root() }

// Stdin is the process's standard input. One goroutine at a time may write to it.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout is the process's standard output, until Stop returns.
func (p *Process) Stdout() io.Reader { return p.stdout }

// Stderr is the end of what the process wrote to standard error so far, at most 8 KiB. Cut says that
// there was more before it.
func (p *Process) Stderr() (text string, cut bool) { return p.stderr.text() }

// Done is closed when the process and all its descendants have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the process ended: nil or an *ExitError. It is only meaningful once Done is closed.
func (p *Process) Err() error { return p.exit }

// Hangup closes the process's input and ends reads of its output at once. Where the system cannot do that
// to a pipe (Windows), it ends them with the process.
func (p *Process) Hangup() {
	p.stdin.Close()
	if err := p.stdout.SetReadDeadline(time.Unix(1, 0)); errors.Is(err, os.ErrNoDeadline) {
		p.family.Kill()
	}
}

// killWait is how long a killed process may take to be gone before its guard is killed, too.
const killWait = 6 * time.Second

// Stop ends the process, allowing it grace at each step, and waits until nothing of it is left. It does
// what MCP asks of a client (https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#stdio,
// its source read November 2026): "For the stdio transport, the client SHOULD initiate shutdown by:"
//
// Stop may be called again, also while it runs; it returns how the process ended.
func (p *Process) Stop(grace time.Duration) error {
	p.stop.Do(func() {
		defer close(p.stopped)
		// "First, closing the input stream to the child process (the server)"
		p.stdin.Close()
		// "Waiting for the server to exit, or sending SIGTERM if the server does not exit within a
		// reasonable time"
		if !p.ended(grace) {
			p.family.Terminate()
			// "Sending SIGKILL if the server does not exit within a reasonable time after SIGTERM"
			if !p.ended(grace) {
				p.family.Kill()
				if !p.gone(killWait) {
					p.family.Abandon()
					<-p.done
				}
			}
		}
		p.family.Close()
		p.stdout.Close()
	})
	<-p.stopped
	return p.exit
}

// ended waits at most d for the end, as long as there is no hurry.
func (p *Process) ended(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	case <-p.hurry:
		return p.gone(0)
	}
}

// gone waits at most d for the end.
func (p *Process) gone(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
