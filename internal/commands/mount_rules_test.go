package commands

import (
	"path/filepath"
	"slices"
	"testing"

	"codemode/internal/sandbox/mount"
)

// TestStartsAnyhow: whatever servers there are, something is started from codemode's own program and the folders of
// PATH.
func TestStartsAnyhow(t *testing.T) {
	h := newHousehold(t)
	h.write("bin/codemode", "#!/opt/sh -e\n", 0o700)
	list := h.settings().startsAnyhow()
	for _, want := range []mount.Start{
		{Path: filepath.Join(h.dir, "bin/codemode"), By: "codemode"},
		{Path: "/opt/sh", By: "codemode"},
		{Path: filepath.Join(h.dir, "bin"), By: "what your PATH finds", Within: true},
	} {
		if !slices.Contains(list, want) {
			t.Errorf("%+v is not among %+v", want, list)
		}
	}
}
