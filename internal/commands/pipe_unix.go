//go:build unix

package commands

import "syscall"

// brokenPipe is what writing to a pipe without a reader fails with.
var brokenPipe = []error{syscall.EPIPE}
