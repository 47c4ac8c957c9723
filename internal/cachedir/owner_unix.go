//go:build unix

package cachedir

import (
	"io/fs"
	"syscall"
)

// othersWrite are the permissions of group and others to write.
const othersWrite fs.FileMode = 0o022

// Owner is the user that a file belongs to, where files belong to users.
func Owner(fi fs.FileInfo) (uid int, ok bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
