package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// helper compares codemode with codemode-sandbox beside it with one that executes itself.
func (b *bench) helper(context.Context) error {
	with, without := filepath.Join(b.dir, "with"), filepath.Join(b.dir, "without")
	if err := errors.Join(os.Mkdir(with, 0o755), os.Mkdir(without, 0o755)); err != nil {
		return err
	}
	// The tag says that both are of one build, whatever else is in this tree.
	build := exec.Command(
		"go", "build", "-trimpath", "-ldflags=-s -w", "-tags=build.bench", "-o", with+"/", "codemode/cmd/...",
	)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building codemode: %w: %s", err, out)
	}
	if err := os.Link(filepath.Join(with, "codemode"), filepath.Join(without, "codemode")); err != nil {
		return err
	}
	fi, err := os.Stat(filepath.Join(with, "codemode-sandbox"))
	if err != nil {
		return err
	}
	b.add("codemode-sandbox", fmt.Sprintf("%.1f MB", float64(fi.Size())/1e6), "3 MB", met(fi.Size() <= 3e6))
	ours, theirs := b.starts(with, "with it"), b.starts(without, "without")
	if err := turns(max(b.n, 100), &ours.side, &theirs.side); err != nil {
		return err
	}
	const what = "`codemode exec -c 'print(1)'` with codemode-sandbox beside it, against without"
	b.against(what+", whole process", &ours.side, &theirs.side, 1)
	// The first start is not counted in either.
	ours.side.took, theirs.side.took = ours.processor[1:], theirs.processor[1:]
	b.against(what+", processor time with that of what it waits for", &ours.side, &theirs.side, 1)
	return b.reapers(with, without)
}

// starts is a side, and the processor time of its starts.
type starts struct {
	side
	processor []time.Duration
}

func (b *bench) starts(dir, name string) *starts {
	s := &starts{side: side{name: name}}
	s.run = func() (time.Duration, error) {
		cmd := b.in(dir, "exec", "-c", "print(1)")
		d, err := timed(cmd)
		if err == nil {
			s.processor = append(s.processor, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		}
		return d, err
	}
	return s
}

// in is the codemode of that folder.
func (b *bench) in(dir string, args ...string) *exec.Cmd {
	cmd := b.command(nil, args...)
	cmd.Path = filepath.Join(dir, "codemode")
	return cmd
}

// reapers adds what a guest's reaper holds: what it has written to, and what of its file nobody else has mapped, which
// other reapers share with it.
func (b *bench) reapers(with, without string) error {
	var dirty, clean [2][]int64
	for range 11 {
		for i, dir := range []string{with, without} {
			d, c, err := b.reaper(dir)
			if err != nil {
				return err
			}
			dirty[i], clean[i] = append(dirty[i], d), append(clean[i], c)
		}
	}
	middle := func(kb []int64) int64 { return slices.Sorted(slices.Values(kb))[len(kb)/2] }
	b.add("the only reaper with codemode-sandbox, against without: Private_Dirty, Private_Clean",
		fmt.Sprintf("%d and %d kB against %d and %d kB",
			middle(dirty[0]), middle(clean[0]), middle(dirty[1]), middle(clean[1])), "", "")
	return nil
}

// reaper is what the reaper of a guest that waits for input holds, in kB.
func (b *bench) reaper(dir string) (dirty, clean int64, err error) {
	cmd := b.in(dir, "exec", "-c", "print(1, flush=True); input()")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := cmp.Or(err1, err2, cmd.Start()); err != nil {
		return 0, 0, err
	}
	defer func() {
		_, werr := io.WriteString(in, "\n")
		err = cmp.Or(err, werr, cmd.Wait())
	}()
	if _, err := io.ReadFull(out, make([]byte, 2)); err != nil {
		return 0, 0, err
	}
	for _, pid := range children(cmd.Process.Pid) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.HasPrefix(string(line), "codemode-sandbox-reaper") {
			return memory(pid, "Private_Dirty"), memory(pid, "Private_Clean"), nil
		}
	}
	return 0, 0, errors.New("no reaper was found")
}
