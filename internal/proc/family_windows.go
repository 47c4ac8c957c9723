package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// family is a process and its descendants, in a job object. The system kills the job with the last handle to
// it, which is codemode's, however codemode ends.
// https://learn.microsoft.com/windows/win32/procthread/job-objects
type family struct {
	cmd *exec.Cmd
	job windows.Handle
	pid int
}

func startFamily(_ context.Context, spec Spec, streams [3]*os.File) (Family, error) {
	job, err := newJob()
	if err != nil {
		return nil, fmt.Errorf("making a job object: %w", err)
	}
	f := &family{job: job, cmd: &exec.Cmd{
		Path:   spec.Path,
		Args:   append([]string{spec.Path}, spec.Args...),
		Env:    append([]string{}, spec.Env...), // never nil, which would mean ours
		Dir:    spec.Dir,
		Stdin:  streams[0],
		Stdout: streams[1],
		Stderr: streams[2],
		// Suspended, so that it is in the job before it can start others.
		SysProcAttr: &syscall.SysProcAttr{
			HideWindow:    true,
			CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
		},
	}}
	if err := f.cmd.Start(); err != nil {
		f.Close()
		return nil, err
	}
	f.pid = f.cmd.Process.Pid
	if err := f.release(); err != nil {
		_ = f.cmd.Process.Kill()
		_ = f.cmd.Wait()
		f.Close()
		return nil, err
	}
	return f, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// release puts the suspended process into the job and lets it run.
func (f *family) release() error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(f.pid))
	if err != nil {
		return fmt.Errorf("opening the process: %w", err)
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(f.job, process); err != nil {
		return fmt.Errorf("putting the process into its job object: %w", err)
	}
	return resume(uint32(f.pid))
}

// resume starts the threads of a suspended process; os/exec keeps no handle to the first one.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("listing threads: %w", err)
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return fmt.Errorf("opening a thread: %w", err)
		}
		_, err = windows.ResumeThread(thread)
		_ = windows.CloseHandle(thread)
		if err != nil {
			return fmt.Errorf("resuming the process: %w", err)
		}
	}
	return nil
}

// Wait returns when the program has ended; processes that it left behind end with the job.
func (f *family) Wait() error {
	err := f.cmd.Wait()
	f.Kill()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &ExitError{Code: exit.ExitCode()}
	}
	return err
}

func (f *family) Pid() int  { return f.pid }
func (f *family) Root() int { return f.pid }

// Terminate asks for the end: a console process gets CTRL_BREAK, the nearest there is to SIGTERM.
func (f *family) Terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(f.pid))
}

func (f *family) Kill()    { _ = windows.TerminateJobObject(f.job, 1) }
func (f *family) Abandon() { _ = f.cmd.Process.Kill() }
func (f *family) Close()   { _ = windows.CloseHandle(f.job) }
