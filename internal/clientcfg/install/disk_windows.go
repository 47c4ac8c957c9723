package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

func keepOwner(*os.File, fs.FileInfo) error { return nil }

// BelongsTo says whether a file is of a user, by its number, which there is none of.
func BelongsTo(string, string) bool { return false }

// rename tries again while another program has the file open: winerror.h has it as ERROR_SHARING_VIOLATION, 32.
func rename(dir *os.Root, from, to string) (err error) {
	for range 10 {
		if err = dir.Rename(from, to); !errors.Is(err, syscall.Errno(32)) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		_ = pause(context.Background(), 50*time.Millisecond)
	}
	return err
}

func syncDir(*os.Root) error { return nil }

// noWait is nothing here: no file in a folder is a pipe.
const noWait = 0
