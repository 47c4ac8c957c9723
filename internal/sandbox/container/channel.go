package container

import (
	"errors"
	"os"
	"time"
)

// A way is how messages reach the guest.
type way int

const (
	viaStreams    way = iota // standard input and output of the engine's command, wherever the container is
	viaDescriptor            // descriptor 3, which the engine's command passes on
	viaSocket                // a socket in a directory that is mounted
)

const (
	socketDir    = "/run/codemode" // in the container
	socketName   = "s"
	socketPrefix = "codemode-channel-"
	abandoned    = 10 * time.Minute
)

// A stream is a channel over the standard input and output of the engine's command.
type stream struct {
	in  *os.File
	out *os.File
}

func (s stream) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s stream) Write(p []byte) (int, error) { return s.out.Write(p) }

func (s stream) Close() error {
	err := s.in.Close()
	if cerr := s.out.Close(); err == nil && !errors.Is(cerr, os.ErrClosed) {
		err = cerr
	}
	return err
}
