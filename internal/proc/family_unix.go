//go:build unix

package proc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"codemode/internal/proc/guard"
)

// family is a process and its descendants, below their guard.
type family struct {
	guard   *exec.Cmd
	control *os.File // while this is open, the guard knows that we live
	report  *os.File
	facts   *bufio.Reader // what report says
	pid     int
}

// startFamily starts the guard and waits until it has started the program.
func startFamily(ctx context.Context, spec Spec, streams [3]*os.File) (_ Family, err error) {
	controlR, controlW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	reportR, reportW, err := os.Pipe()
	if err != nil {
		closeAll([]*os.File{controlR, controlW})
		return nil, err
	}
	f := &family{control: controlW, report: reportR, facts: bufio.NewReaderSize(reportR, 64)}
	self, err := executable()
	if err == nil {
		f.guard = &exec.Cmd{
			Path:        self,
			Args:        append([]string{guard.Name, spec.Path}, spec.Args...),
			Env:         append([]string{}, spec.Env...), // never nil, which would mean ours
			Dir:         spec.Dir,
			Stdin:       streams[0],
			Stdout:      streams[1],
			Stderr:      streams[2],
			ExtraFiles:  []*os.File{controlR, reportW},
			SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // away from the terminal and its signals
		}
		err = f.guard.Start()
	}
	closeAll([]*os.File{controlR, reportW})
	if err != nil {
		f.Close()
		return nil, err
	}
	if err := f.started(ctx); err != nil {
		f.Kill()
		_ = f.guard.Wait()
		f.Close()
		return nil, err
	}
	return f, nil
}

// started waits for the guard's first fact.
func (f *family) started(ctx context.Context) error {
	interrupt := context.AfterFunc(ctx, func() { f.report.Close() })
	verb, n, err := f.next()
	if !interrupt() {
		return context.Cause(ctx)
	}
	switch {
	case err != nil:
		return fmt.Errorf("its guard ended: %w", err)
	case verb == guard.Failed:
		return syscall.Errno(n)
	}
	f.pid = n
	return nil
}

func (f *family) next() (verb string, n int, err error) {
	line, err := f.facts.ReadString('\n')
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", 0, err
	}
	_, err = fmt.Sscan(line, &verb, &n)
	return verb, n, err
}

// Wait returns when the guard has ended, which it does after everybody else, and says how the program did.
func (f *family) Wait() error {
	verb, n, err := f.next()
	_ = f.guard.Wait() // it has nothing to add
	switch {
	case err != nil: // the guard was killed, and so the program was
		return &ExitError{Signal: syscall.SIGKILL}
	case verb == guard.Killed:
		return &ExitError{Signal: syscall.Signal(n)}
	case n != 0:
		return &ExitError{Code: n}
	}
	return nil
}

func (f *family) Pid() int { return f.pid }

// Root is the guard, which descendants become children of that have lost their parents.
func (f *family) Root() int { return f.guard.Process.Pid }

func (f *family) Terminate() { f.tell(guard.Terminate) }
func (f *family) Kill()      { f.tell(guard.Kill) }
func (f *family) Abandon()   { _ = f.guard.Process.Kill() }

// tell cannot block: a pipe holds more than the few commands there are. A guard that has ended needs none.
func (f *family) tell(command byte) { _, _ = f.control.Write([]byte{command}) }

func (f *family) Close() { closeAll([]*os.File{f.control, f.report}) }
