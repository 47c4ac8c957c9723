package clientcfg

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// createdAt is when a folder was made, and its number: another one at its path has another.
func createdAt(folder string) string {
	var s unix.Stat_t
	if unix.Stat(folder, &s) != nil {
		return ""
	}
	return fmt.Sprintf("%d.%09d:%d", s.Btim.Sec, s.Btim.Nsec, s.Ino)
}
