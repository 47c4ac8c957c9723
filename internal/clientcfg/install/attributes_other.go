//go:build !linux

package install

import "os"

// keepAttributes keeps none: what macOS has beside a file's mode is for programs in C, and Windows' lists are a
// folder's.
func keepAttributes(*os.File, *os.Root, string) error { return nil }
