//go:build unix

package commands

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
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

const (
	answerPatience = 300 * time.Millisecond // for a terminal, which may be at the end of a long line
	quietTime      = 50 * time.Millisecond
	discardTime    = 5 * time.Second // for all of it: a person who types pauses sooner
)

// discardTyped forgets what was typed before, by a person or by the terminal itself: programs can have it type its
// state. It answers in order, so it is asked for its status, and what comes until then and a quiet moment is old.
func discardTyped(in, out *os.File) error {
	fd := int(in.Fd())
	state, err := term.MakeRaw(fd) // lines are not waited for, and nothing is echoed
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(fd, state) }()
	if _, err := io.WriteString(out, "\x1b[5n"); err != nil {
		return err
	}
	var seen []byte
	buf := make([]byte, 4096)
	for began := time.Now(); time.Since(began) < discardTime; {
		if !readable(fd, quietTime) {
			if bytes.Contains(seen, []byte("\x1b[0n")) || time.Since(began) > answerPatience {
				break
			}
			continue
		}
		n, err := in.Read(buf)
		if n == 0 || err != nil {
			return err
		}
		if bytes.IndexByte(buf[:n], 'C'-'@') >= 0 { // is Ctrl-C all the same
			_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		}
		seen = append(seen[max(0, len(seen)-len(buf)):], buf[:n]...)
	}
	return nil
}

// readable waits until there is something to be read, or an end. Where a terminal cannot be polled (macOS), there is.
func readable(fd int, patience time.Duration) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
	return n > 0 && err == nil
}

// untilDone reads from a terminal as long as ctx goes on.
type untilDone struct {
	ctx context.Context
	in  *os.File
}

func (r untilDone) Read(p []byte) (int, error) {
	for !readable(int(r.in.Fd()), quietTime) {
		if r.ctx.Err() != nil {
			return 0, context.Cause(r.ctx)
		}
	}
	n, err := r.in.Read(p)
	if r.ctx.Err() != nil { // what is typed later is no answer
		return 0, context.Cause(r.ctx)
	}
	return n, err
}

// typedLine waits for a line. Its end without one is io.EOF.
func typedLine(ctx context.Context, in *os.File) (string, error) {
	line := make([]byte, 4096) // of which a terminal gives one at a time
	n, err := untilDone{ctx, in}.Read(line)
	return strings.TrimSuffix(string(line[:n]), "\n"), err
}
