//go:build unix && !linux

package guard

import "syscall"

func closeOnExec() {
	syscall.CloseOnExec(controlFD)
	syscall.CloseOnExec(reportFD)
}

// There is no subreaper here: a descendant that leaves the process group is not found again.
func adoptOrphans() {}

func killChildren() {}

func commandAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func dup(from, to int) error { return syscall.Dup2(from, to) }
