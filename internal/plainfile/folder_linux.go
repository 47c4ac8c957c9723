package plainfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openReal opens a folder through no link. The folders above it need not be readable.
func openReal(path string) (*os.Root, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // before Linux 5.6, or a filter
		return openCompared(path)
	case errors.Is(err, unix.ELOOP):
		return nil, ErrLink
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
}
