// Package atomicfile replaces a file so that it is the old one or the new one, whenever the process or the machine
// stops. It makes no folder and takes no lock; what a killed process leaves has the caller's name for it, to be swept
// by that.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write writes a file that its user alone can read, by way of one beside it whose name is made of temp, as for
// [os.CreateTemp].
func Write(path, temp string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), temp) // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
