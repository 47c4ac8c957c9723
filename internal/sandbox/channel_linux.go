package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A channel is the host's end of the socket pair to a guest.
type channel struct{ file *os.File }

// newChannel makes a socket pair. The host's end is non-blocking, for the runtime's poller; the
// guest's end is a plain descriptor that only the guest gets.
func newChannel() (*channel, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making the guest's channel: %w", err)
	}
	guest := os.NewFile(uintptr(fds[1]), "guest's channel")
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		guest.Close()
		return nil, nil, fmt.Errorf("making the guest's channel: %w", err)
	}
	return &channel{os.NewFile(uintptr(fds[0]), "channel")}, guest, nil
}

// Read ends with io.EOF when the guest is gone, also when it left something unread.
func (c *channel) Read(p []byte) (int, error) {
	n, err := c.file.Read(p)
	if errors.Is(err, unix.ECONNRESET) {
		err = io.EOF
	}
	return n, err
}

func (c *channel) Write(p []byte) (int, error) { return c.file.Write(p) }

func (c *channel) Close() error {
	if err := c.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
