package install

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// accessList is the attribute that holds a file's POSIX access list, see acl(5). A new file may have got one of its
// folder's default list.
const accessList = "system.posix_acl_access"

// keepAttributes gives a file the access list and the user's attributes of the one before, see xattr(7). A mode alone
// means something else: with an access list, its group's bits are the most that anybody on the list has.
func keepAttributes(f *os.File, dir *os.Root, base string) error {
	before, _, err := openRegular(dir, base)
	if err != nil {
		return errChanged
	}
	defer before.Close()
	if err := unix.Fremovexattr(int(f.Fd()), accessList); err != nil && !lacks(err) {
		return err
	}
	names, err := attribute(func(buf []byte) (int, error) { return unix.Flistxattr(int(before.Fd()), buf) })
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(string(bytes.TrimRight(names, "\x00")), "\x00") {
		if name != accessList && !strings.HasPrefix(name, "user.") {
			continue
		}
		value, err := attribute(func(buf []byte) (int, error) { return unix.Fgetxattr(int(before.Fd()), name, buf) })
		if err == nil {
			err = unix.Fsetxattr(int(f.Fd()), name, value, 0)
		}
		if err != nil {
			return fmt.Errorf("its attribute %q would be lost: %w", name, err)
		}
	}
	return nil
}

// attribute is what a call writes into a buffer, which says with none how long it is to be.
func attribute(read func([]byte) (int, error)) ([]byte, error) {
	n, err := read(nil)
	if n <= 0 || err != nil {
		if lacks(err) {
			err = nil
		}
		return nil, err
	}
	buf := make([]byte, n)
	n, err = read(buf)
	return buf[:max(n, 0)], err
}

// lacks says that there is no such attribute, or none at all on this file system.
func lacks(err error) bool { return errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) }
