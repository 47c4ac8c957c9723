//go:build unix

package clientcfg

import "syscall"

// noWait opens a pipe without waiting for its writer.
const noWait = syscall.O_NONBLOCK
