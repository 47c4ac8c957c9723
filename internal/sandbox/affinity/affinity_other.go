//go:build !linux

package affinity

// Share is of Linux alone.
func Share(int) (release func(), err error) { return nil, errNotHere }
