//go:build amd64 || arm64

package python

import (
	"os"

	"github.com/kluctl/go-embed-python/python"
	"golang.org/x/sys/unix"
)

// embeddedRelease is the release of the CPython in the binary: version of Python, date of
// python-build-standalone, build of go-embed-python. It ends the version that go.mod names.
const embeddedRelease = "3.14.6-20260610-1"

// extractEmbedded writes the embedded distribution to dir, which exists and is empty.
func extractEmbedded(dir string) error {
	_, err := python.NewEmbeddedPythonWithTmpDir(dir, false)
	return err
}

// syncTree makes everything below dir durable. One call for the file system costs less than one for
// each of a thousand files.
func syncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
