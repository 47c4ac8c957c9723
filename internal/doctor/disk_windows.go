package doctor

import (
	"io/fs"

	"golang.org/x/sys/windows"
)

// othersMay is nothing where permissions are not in a file's mode.
const othersMay fs.FileMode = 0

// freeSpace is what this user may still write to the disk of a folder.
func freeSpace(dir string) (free uint64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err
}
