package packages

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"codemode/internal/proc"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"
)

const (
	maxLine  = 64 << 10 // of what pip says; the rest of a longer one is skipped
	stopping = 2 * time.Second

	aborting = 50 * time.Millisecond // of what nobody waits for any more: it has written nothing that is kept
)

// run has Python execute code within restrictions, and returns how it ended. lines gets what it says, line by line.
func (s *Store) run(
	ctx context.Context, py *python.Interpreter, may sandbox.Restrictions, args []string, line func(string),
) error {
	exe := py.HostPath(py.Exe)
	may.Project = filepath.Dir(filepath.Dir(exe)) // of which links and texts may be a stranger's
	p, err := proc.Start(ctx, proc.Spec{
		Path: exe, Args: append([]string{"-I", "-S", "-B", "-X", "utf8", "-c"}, args...), Dir: "/",
		Env:   append([]string{"HOME=/home/pip", "PATH=/usr/bin:/bin", "LANG=C.UTF-8"}, s.Env...),
		Start: s.Programs.Starter(may),
	})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { p.Hangup() })
	defer stop()
	readLines(p.Stdout(), line)
	select {
	case <-p.Done():
	case <-ctx.Done():
	}
	grace := stopping
	if ctx.Err() != nil {
		grace = aborting
	}
	err = p.Stop(grace)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var exit *proc.ExitError
	if errors.As(err, &exit) {
		text, _ := p.Stderr()
		return &programError{text, exit}
	}
	return err
}

// programError is a program that failed, and what it said of that.
type programError struct {
	stderr string
	exit   *proc.ExitError
}

func (e *programError) Error() string { return fmt.Sprintf("%v%s", e.exit, python.LastLine(e.stderr)) }
func (e *programError) Unwrap() error { return e.exit }

// readLines reads to the end, whatever the length of lines.
func readLines(from io.Reader, line func(string)) {
	in := bufio.NewReaderSize(from, maxLine)
	for {
		text, err := in.ReadSlice('\n')
		if len(text) > 0 {
			line(strings.TrimRight(string(text), "\r\n"))
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}
