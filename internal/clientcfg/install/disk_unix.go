//go:build unix

package install

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file to whom the one before belongs.
func keepOwner(f *os.File, like fs.FileInfo) error {
	if like == nil {
		return nil
	}
	was, ok := like.Sys().(*syscall.Stat_t)
	info, err := f.Stat()
	if err != nil || !ok {
		return err
	}
	if is := info.Sys().(*syscall.Stat_t); is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
		return fmt.Errorf("it belongs to another user, and would not any more")
	}
	return nil
}

func rename(from, to string) error { return os.Rename(from, to) }

// syncDir makes sure that a name is on the disk.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return nil // it may be written and not read; the name is there
	}
	_ = f.Sync() // not every file system can
	return f.Close()
}
