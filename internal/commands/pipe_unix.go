//go:build unix

package commands

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// brokenPipe is what writing to a pipe without a reader fails with.
var brokenPipe = []error{syscall.EPIPE}

// unread says whether out is a pipe whose reader has gone, which writing would find out later.
func unread(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(f.Fd())}} // errors are always reported: poll(2)
	n, err := unix.Poll(poll, 0)
	return n > 0 && err == nil && poll[0].Revents&unix.POLLERR != 0
}
