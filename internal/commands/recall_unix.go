//go:build unix

package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// stampFile is what tells a file from what it was, and when it was last changed in any way, which no program can set.
func stampFile(file string) (changed time.Time, stamp string, ok bool) {
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return time.Time{}, "none", errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
	}
	changed = time.Unix(st.Ctim.Unix())
	return changed, fmt.Sprintf("%d %d %o %d %d", st.Dev, st.Ino, st.Mode, st.Size, changed.UnixNano()), true
}
