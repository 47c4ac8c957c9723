//go:build !linux && !darwin

package install

import "errors"

// swap cannot be done here; a plain rename follows, right behind the comparison.
func swap(_, _ string) error { return errors.ErrUnsupported }
