//go:build unix

package commands

import (
	"os"
	"syscall"
)

// openConsole opens the terminal of this process's session, for reads that block: it is nothing to be polled.
func openConsole() (in, out *os.File, err error) {
	const name = "/dev/tty"
	fd, err := syscall.Open(name, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	in = os.NewFile(uintptr(fd), name)
	return in, in, nil
}
