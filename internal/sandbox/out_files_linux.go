package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// holdWork opens the guest's WorkDir, so that what is left in it can be looked through when the guest has ended.
func (s *nativeSandbox) holdWork(l *launch) (err error) {
	name := procFile(s.first(), "root"+WorkDir)
	if l.alone {
		name = l.config.Dir
	}
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("starting a sandbox: opening the guest's %s: %w", WorkDir, err)
	}
	s.work = os.NewFile(uintptr(fd), WorkDir)
	l.undo.add(func() { s.work.Close() })
	return nil
}

// OutFiles looks through OutDir, which may be anything by now. No link is followed, and nothing is waited for.
func (s *nativeSandbox) OutFiles(ctx context.Context, known map[string]string, take func(OutFile) error) error {
	if s.work == nil {
		return nil
	}
	fd, err := unix.Openat2(int(s.work.Fd()), outName, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return fmt.Errorf("opening %s: %w", OutDir, err)
	}
	defer unix.Close(fd)
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return fmt.Errorf("opening %s: %w", OutDir, err)
	}
	defer root.Close()
	l := outFileWalk{root, known, take}
	return l.in(ctx, ".")
}

// outFileWalk is one look through what was left.
type outFileWalk struct {
	root  *os.Root
	known map[string]string
	take  func(OutFile) error
}

// in hands over the files in one folder, and then those in its folders.
func (l outFileWalk) in(ctx context.Context, dir string) error {
	d, err := l.root.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return l.take(OutFile{Name: dir, Err: cmp.Or(errors.Unwrap(err), err)})
	}
	entries, err := d.ReadDir(-1)
	d.Close()
	if err != nil {
		return l.take(OutFile{Name: dir, Err: cmp.Or(errors.Unwrap(err), err)})
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	var folders []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case e.IsDir():
			folders = append(folders, name)
			continue
		case !e.Type().IsRegular():
			err = l.take(OutFile{Name: name, Err: ErrNotRegular})
		default:
			err = l.file(name)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range folders {
		if depth(name) > maxOutDepth {
			err = l.take(OutFile{Name: name, Err: ErrTooDeep})
		} else {
			err = l.in(ctx, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file hands over one file: what was one a moment ago may be a FIFO by now.
func (l outFileWalk) file(name string) error {
	f, err := l.root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return l.take(OutFile{Name: name, Err: cmp.Or(errors.Unwrap(err), err)})
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return l.take(OutFile{Name: name, Err: ErrNotRegular})
	}
	changed := fi.Sys().(*syscall.Stat_t).Ctim
	stamp := OutFileStamp(changed.Nano(), fi.Size())
	if l.known[name] == stamp {
		return nil
	}
	return l.take(OutFile{Name: name, Size: fi.Size(), Content: f, Stamp: stamp})
}

func depth(name string) int { return strings.Count(name, "/") + 1 }
