package commands

import (
	"path/filepath"
	"slices"
	"testing"

	"codemode/internal/sandbox/mount"
)

// TestHostStarts: whatever servers there are, something is started from codemode's own program, by whichever path it was
// started, and from the folders of PATH.
func TestHostStarts(t *testing.T) {
	h := newHousehold(t)
	for name, text := range map[string]string{
		"bin/codemode": "", "links/codemode": "#!/usr/bin/env other\n", "bin/other": "#!" + h.dir + "/third -e\n", "third": "",
	} {
		h.write(name, text, 0o700)
	}
	s := h.settings()
	s.env.Args[0] = filepath.Join(h.dir, "links", "codemode")
	list := s.hostStarts()
	for path, by := range map[string]string{
		"bin/codemode": "codemode", "links/codemode": "codemode", "bin/other": "codemode", "bin": "what your PATH finds",
	} {
		want := mount.Start{Path: filepath.Join(h.dir, path), By: by, Within: path == "bin"}
		if !slices.Contains(list, want) {
			t.Errorf("%+v is not among %+v", want, list)
		}
	}
}
