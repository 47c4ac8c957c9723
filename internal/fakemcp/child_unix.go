//go:build unix

package fakemcp

import (
	"os/exec"
	"syscall"
)

// spawnChild starts a process that only SIGKILL ends, in a session of its own, below a parent that ends at
// once.
func spawnChild() error {
	cmd := exec.Command("/bin/sh", "-c", `(trap "" TERM HUP INT QUIT; while :; do sleep 1000; done) &`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Run()
}
