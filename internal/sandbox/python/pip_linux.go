//go:build amd64 || arm64

package python

import (
	"path/filepath"

	"github.com/kluctl/go-embed-python/pip"
)

// pipRelease is the pip in the binary, as the same module carries it.
const pipRelease = "26.1.2"

// extractPip writes pip below dir, which is empty, and says where. The library takes no folder but a name for one
// beside other users' files, in the system's for temporary ones; so the name leads from there to dir.
func extractPip(dir, temp string) (string, error) {
	const prefix = "go-embedded-pip-" // of the library's own names (embed_util, 2026-06)
	name, err := filepath.Rel(filepath.Join(temp, prefix), filepath.Join(dir, "pip"))
	if err != nil {
		return "", err
	}
	lib, err := pip.NewPipLib("/" + name)
	if err != nil {
		return "", err
	}
	return lib.GetExtractedPath(), nil
}
