//go:build !linux && !darwin

package install

import (
	"errors"
	"os"
)

// swap cannot be done here; a plain rename follows, right behind the comparison.
func swap(*os.Root, string, string) error { return errors.ErrUnsupported }
