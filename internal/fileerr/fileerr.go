// Package fileerr says what an error of the file system was, without the path that a message around it names.
// It opens nothing.
package fileerr

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Cause drops the operation and the path from an error.
func Cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// IsMissing says whether an error means no more than that there is no such file.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
