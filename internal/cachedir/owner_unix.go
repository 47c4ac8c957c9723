//go:build unix

package cachedir

import (
	"io/fs"
	"syscall"
)

// othersWrite are the permissions of group and others to write.
const othersWrite fs.FileMode = 0o022

// ownerOf is the user that a file belongs to.
func ownerOf(fi fs.FileInfo) (uid int, ok bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
