package commands

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// unreadBytes is how much is in a pipe that nobody has read yet.
func unreadBytes(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok {
		return 0
	}
	if fi, err := f.Stat(); err != nil || fi.Mode()&os.ModeNamedPipe == 0 {
		return 0
	}
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
