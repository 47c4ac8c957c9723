package clientcfg

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// createdAt is when a folder was made, and its number: another one at its path has another. It is empty where the file
// system does not tell (statx(2), STATX_BTIME).
func createdAt(folder string) string {
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, folder, 0, unix.STATX_BTIME|unix.STATX_INO, &s)
	if err != nil || s.Mask&unix.STATX_BTIME == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%09d:%d", s.Btime.Sec, s.Btime.Nsec, s.Ino)
}
