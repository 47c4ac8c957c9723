package install

import (
	"os"

	"golang.org/x/sys/unix"
)

// swap exchanges two names of a folder at once.
func swap(dir *os.Root, a, b string) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.RenameatxNp(int(d.Fd()), a, int(d.Fd()), b, unix.RENAME_SWAP)
}
