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

// Left looks through OutDir, which may be anything by now. No link is followed, and nothing is waited for.
func (s *nativeSandbox) Left(ctx context.Context, take func(LeftFile) error) error {
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
	return leftIn(ctx, root, ".", take)
}

// leftIn hands over the files in one folder, and then those in its folders.
func leftIn(ctx context.Context, root *os.Root, dir string, take func(LeftFile) error) error {
	d, err := root.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return take(LeftFile{Name: dir, Err: cmp.Or(errors.Unwrap(err), err)})
	}
	entries, err := d.ReadDir(-1)
	d.Close()
	if err != nil {
		return take(LeftFile{Name: dir, Err: cmp.Or(errors.Unwrap(err), err)})
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
			err = take(LeftFile{Name: name, Err: ErrNotRegular})
		default:
			err = leftFile(root, name, take)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range folders {
		if depth(name) > maxLeftDepth {
			err = take(LeftFile{Name: name, Err: ErrTooDeep})
		} else {
			err = leftIn(ctx, root, name, take)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leftFile hands over one file: what was one a moment ago may be a FIFO by now.
func leftFile(root *os.Root, name string, take func(LeftFile) error) error {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return take(LeftFile{Name: name, Err: cmp.Or(errors.Unwrap(err), err)})
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return take(LeftFile{Name: name, Err: ErrNotRegular})
	}
	return take(LeftFile{Name: name, Size: fi.Size(), Content: f})
}

func depth(name string) int { return strings.Count(name, "/") + 1 }
