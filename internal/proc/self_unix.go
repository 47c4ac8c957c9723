//go:build unix && !linux

package proc

import "os"

// executable is this program.
func executable() (string, error) { return os.Executable() }
