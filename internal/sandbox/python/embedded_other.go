//go:build !linux || !(amd64 || arm64)

package python

import (
	"fmt"
	"runtime"
)

// embeddedRelease is empty: the native runtime exists only on Linux, so elsewhere the binary is kept
// 40 MB smaller.
const embeddedRelease = ""

func embeddedFiles() ([]file, error) {
	return nil, fmt.Errorf("codemode for %s/%s carries no python", runtime.GOOS, runtime.GOARCH)
}

func syncTree(string) error { return nil }
