package python

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"codemode/internal/proc"

	"golang.org/x/sync/errgroup"
)

// compileScript reads a file to compile and the name its tracebacks show, two lines each, and answers
// with one line. Bytecode with an unchecked hash is valid whatever modification time a mount shows.
// End of input ends it, so it never outlives codemode.
const compileScript = `
import sys, py_compile
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
lines = (line.rstrip("\n") for line in sys.stdin)
for path in lines:
    py_compile.compile(path, dfile=next(lines), doraise=True, invalidation_mode=mode)
    print(flush=True)
`

// Compile byte-compiles every .py file below dir, a host directory, with this interpreter. The
// bytecode lands in the __pycache__ directories beside the files.
func (py *Interpreter) Compile(ctx context.Context, dir string) error {
	return compileTree(ctx, py.program(), dir, "", func(int, int) {})
}

// startModule is the guest's own, which writes what a start imports into one file and reads it again.
const startModule = "codemode_guest/start.py"

// keepScript is told the tree's folder, and writes to it.
const keepScript = `
import sys
sys.path.insert(0, sys.argv[1])
from codemode_guest import start
start.keep(sys.argv[1])
`

// keepStart has a compiled tree of the guest's write that file.
func (py *Interpreter) keepStart(ctx context.Context, dir string) error {
	by := py.program()
	ctx, cancel := by.within(ctx)
	defer cancel()
	_, err := by.answer(ctx, keepScript, []string{dir}, dir)
	return err
}

// compileTime is ample for pip's 400 files; a lock is held meanwhile, for which others wait.
var compileTime = 2 * time.Minute

// compileTree is Compile by a program, which need not be in its final place. Tracebacks name the files as if dir were
// shown. step is told how many of how many files are done.
func compileTree(ctx context.Context, by program, dir, shown string, step func(done, total int)) error {
	files, err := pythonFiles(dir)
	if err != nil {
		return fmt.Errorf("byte-compiling %q: %w", dir, err)
	}
	ctx, cancel := by.within(ctx)
	defer cancel()
	todo := make(chan string)
	done := make(chan struct{})
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(todo)
		for _, f := range files {
			select {
			case todo <- f:
			case <-gctx.Done():
				return gctx.Err()
			}
		}
		return nil
	})
	g.Go(func() error {
		for n := range files {
			select {
			case <-done:
				step(n+1, len(files))
			case <-gctx.Done():
				return gctx.Err()
			}
		}
		return nil
	})
	for range min(runtime.GOMAXPROCS(0), 4, len(files)) {
		g.Go(func() error { return compileFiles(gctx, by, dir, shown, todo, done) })
	}
	err = g.Wait()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("byte-compiling %q: %w", dir, err)
	}
	return nil
}

// within bounds how long the program is waited for.
func (p program) within(ctx context.Context) (context.Context, context.CancelFunc) {
	late := fmt.Errorf("%q was not done within %v", p.exe, compileTime)
	return context.WithTimeoutCause(ctx, compileTime, late)
}

// compileFiles has one interpreter process compile the files it takes from todo.
func compileFiles(
	ctx context.Context, by program, dir, shown string, todo <-chan string, done chan<- struct{},
) error {
	process, err := by.start(ctx, compileScript, nil, dir)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, process.Hangup)()
	answers := bufio.NewReader(process.Stdout())
	for rel := range todo {
		_, err = fmt.Fprintf(process.Stdin(), "%s\n%s\n", filepath.Join(dir, rel), filepath.Join(shown, rel))
		if err == nil {
			_, err = answers.ReadString('\n')
		}
		if err != nil {
			break // it has ended; Stop and its standard error know why
		}
		select {
		case done <- struct{}{}:
		case <-ctx.Done():
		}
	}
	if ended := process.Stop(ending); ended != nil {
		err = ended
	}
	if err != nil {
		return failed(by.exe, process, err)
	}
	return nil
}

// failed is an error of a process, with the reason that it gave.
func failed(exe string, process *proc.Process, err error) error {
	said, _ := process.Stderr()
	return fmt.Errorf("running %q: %w%s", exe, err, LastLine(said))
}

// pythonFiles lists the .py files below dir, relative to it.
func pythonFiles(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".py") {
			rel, _ := filepath.Rel(dir, path) // path begins with dir
			files = append(files, rel)
		}
		return err
	})
	return files, err
}

// LastLine is the last line of an interpreter's stderr, to end an error with: of a traceback it is
// the one that says what happened.
func LastLine(stderr string) string {
	stderr = strings.TrimSpace(stderr)
	if stderr == "" {
		return ""
	}
	return ": " + stderr[strings.LastIndexByte(stderr, '\n')+1:]
}
