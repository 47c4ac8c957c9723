//go:build !linux

package affinity

import "errors"

// Share is of Linux alone.
func Share(...int) (release func(), err error) {
	return nil, errors.New("no processor can be shared on this system")
}
