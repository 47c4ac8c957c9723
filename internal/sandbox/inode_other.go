//go:build !linux

package sandbox

import "errors"

// InodeOf needs Linux, where containers are processes of the machine that codemode runs on.
func InodeOf(string) (Inode, error) { return Inode{}, errors.ErrUnsupported }
