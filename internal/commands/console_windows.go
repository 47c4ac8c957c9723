package commands

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/windows"
)

// openConsole opens the console by the names that Windows has for it: Microsoft's "Console Handles", read 2026-11.
func openConsole() (in, out *os.File, err error) {
	in, err = os.OpenFile("CONIN$", os.O_RDWR, 0)
	out, outErr := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err := errors.Join(err, outErr); err != nil {
		return nil, nil, err
	}
	var mode uint32
	if windows.GetConsoleMode(windows.Handle(out.Fd()), &mode) == nil {
		_ = windows.SetConsoleMode(windows.Handle(out.Fd()), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
	}
	return in, out, nil
}

// discardTyped forgets what was typed before.
func discardTyped(in, _ *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(in.Fd()))
}

// untilDone reads from a console, which cannot be told to give up a read: what ends codemode restores its mode.
type untilDone struct {
	ctx context.Context
	in  *os.File
}

func (r untilDone) Read(p []byte) (int, error) { return r.in.Read(p) }

const quietTime = 0

// readable says that nothing is to be read: there is no telling what of it is a key.
func readable(int, time.Duration) bool { return false }

// typedLine waits for a line. Its end without one is io.EOF. No console can be told to give up a read: where nothing is
// typed any more, the goroutine ends with the process.
func typedLine(ctx context.Context, in *os.File) (string, error) {
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(in).ReadString('\n')
		read <- line{strings.TrimRight(text, "\r\n"), err}
	}()
	select {
	case l := <-read:
		return l.text, l.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
