package commands

import (
	"io"
	"syscall"
)

// brokenPipe is what writing to a pipe without a reader fails with: ERROR_BROKEN_PIPE and ERROR_NO_DATA
// (learn.microsoft.com/windows/win32/debug/system-error-codes, 2026-07).
var brokenPipe = []error{syscall.ERROR_BROKEN_PIPE, syscall.Errno(232)}

// unread is known here when something is written.
func unread(io.Writer) bool { return false }
