//go:build unix

package audit

import (
	"errors"
	"os"
)

// syncDir makes the names of new files survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
