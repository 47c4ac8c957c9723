//go:build unix

package container

import (
	"os/exec"
	"syscall"
)

// detach keeps a terminal's signals from a command.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
