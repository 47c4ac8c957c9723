//go:build unix

package install

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// keepOwner gives a file to whom the one before belongs.
func keepOwner(f *os.File, like fs.FileInfo) error {
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

// BelongsTo says whether a file is of a user, by its number.
func BelongsTo(path, uid string) bool {
	fi, err := os.Stat(path)
	if err != nil {
		return false
	}
	is, ok := fi.Sys().(*syscall.Stat_t)
	return ok && strconv.FormatUint(uint64(is.Uid), 10) == uid
}

func rename(dir *os.Root, from, to string) error { return dir.Rename(from, to) }

// noWait opens a pipe without waiting for its writer.
const noWait = syscall.O_NONBLOCK

// syncDir makes sure that a name is on the disk.
func syncDir(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return nil // it may be written and not read; the name is there
	}
	_ = f.Sync() // not every file system can
	return f.Close()
}
