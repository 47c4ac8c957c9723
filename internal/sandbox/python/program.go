package python

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"codemode/internal/plainfile"
	"codemode/internal/proc"
)

// Confine returns what starts an interpreter within a sandbox, in which it sees what it is installed in, and changes
// those folders alone.
type Confine func(write ...string) proc.Starter

// A program is an interpreter on the host, which codemode asks something, or has compile.
type program struct {
	exe     string
	confine Confine // nil starts it as it is
}

// start starts it with codemode's own code, and without what a site-packages folder would have it execute. The caller
// calls Stop.
func (p program) start(ctx context.Context, code string, args []string, write ...string) (*proc.Process, error) {
	spec := proc.Spec{
		Path: p.exe, Args: append([]string{"-I", "-S", "-B", "-c", code}, args...), Dir: "/",
		Env: []string{"LANG=C.UTF-8", "PATH=/usr/bin:/bin"},
	}
	if p.confine != nil {
		spec.Start = p.confine(write...)
	}
	process, err := proc.Start(ctx, spec)
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		err = explainStart(p.exe, err)
	}
	return process, err
}

const (
	maxAnswer = 1 << 20 // bytes
	ending    = time.Second
)

// answer is what code prints, which may write to the folders write.
func (p program) answer(ctx context.Context, code string, args []string, write ...string) (answer []byte, err error) {
	process, err := p.start(ctx, code, args, write...)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, process.Hangup)()
	answer, err = plainfile.Bounded(process.Stdout(), 0, maxAnswer)
	ended := process.Stop(ending)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case ended != nil:
		return nil, failed(p.exe, process, ended)
	}
	return answer, err
}
