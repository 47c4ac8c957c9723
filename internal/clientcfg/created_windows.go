package clientcfg

import (
	"fmt"
	"os"
	"syscall"
)

// createdAt is when a folder was made: another one at its path is another's.
func createdAt(folder string) string {
	info, err := os.Stat(folder)
	if err != nil {
		return ""
	}
	data, ok := info.Sys().(*syscall.Win32FileAttributeData)
	if !ok {
		return ""
	}
	return fmt.Sprint(data.CreationTime.Nanoseconds())
}
