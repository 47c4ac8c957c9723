//go:build unix

package doctor

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// othersMay are the permissions that a file of this user's alone has not.
const othersMay fs.FileMode = 0o077

// freeSpace is what this user may still write to the disk of a folder.
func freeSpace(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
