//go:build !linux

package plainfile

import "os"

func openReal(path string) (*os.Root, error) { return openCompared(path) }
