//go:build !linux || !(amd64 || arm64)

package python

import (
	"fmt"
	"runtime"
)

// pipRelease is empty where the binary carries no Python.
const pipRelease = ""

func extractPip(string, string) (string, error) {
	return "", fmt.Errorf("codemode for %s/%s carries no pip", runtime.GOOS, runtime.GOARCH)
}
