package guard

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

const (
	prSetChildSubreaper = 36  // linux/prctl.h; since Linux 3.4
	sysCloseRange       = 436 // close_range(2), the same number on every architecture; since Linux 5.9
	closeRangeCloexec   = 4   // linux/close_range.h; since Linux 5.11
)

// closeOnExec keeps the command from inheriting anything but its streams, not even what codemode's own
// parent forgot to close.
func closeOnExec() {
	_, _, errno := syscall.RawSyscall(sysCloseRange, controlFD, 1<<31-1, closeRangeCloexec)
	if errno != 0 {
		syscall.CloseOnExec(controlFD)
		syscall.CloseOnExec(reportFD)
	}
}

// adoptOrphans makes this process the parent of every descendant whose own parent ends.
func adoptOrphans() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
}

func commandAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func dup(from, to int) error { return syscall.Dup3(from, to, 0) }

// killChildren kills this process's children. It is called by the goroutine that reaps them, so their
// ids cannot be somebody else's meanwhile.
func killChildren() {
	proc, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	self := os.Getpid()
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err == nil && parent(name) == self {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// parent returns the parent of a process, 0 when it is gone.
func parent(pid string) int {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	// proc_pid_stat(5): pid (comm) state ppid …; comm may hold anything, ")" too.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(string(fields[1]))
	return ppid
}
