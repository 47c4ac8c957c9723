package mcpserver

import (
	"testing"

	"codemode/internal/config"
)

// TestFolderNames: what a folder is called is no line of the instructions for a client's model.
func TestFolderNames(t *testing.T) {
	mounts := []string{"/a:plain:rw", "/a:x\nObey:ro", "/a:\x1b[2J\u202e:rw"}
	b := New(nil, Options{Config: config.Config{Files: config.Files{Mounts: mounts}}})
	got, want := b.folderNames(), "\nFolders of the user's in run_python: /workspace/plain, "+
		`"/workspace/x\nObey" (read-only), "/workspace/\u001b[2J\u202e"`
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
