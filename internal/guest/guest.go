// Package guest is everything that runs inside the sandbox, and the wire to it.
//
// It owns the Python files under python/ (boot code, runner, the mcp package) and the message
// types and codec both sides speak; docs/protocol.md is their specification. It never starts a
// process, knows nothing of containers or of MCP sessions, and trusts nothing the other side sends.
// A [Conn] is closed by the opener of the stream below it.
package guest

import (
	"embed"
	"io/fs"
)

// Files by pattern, not the directory: that would bring __pycache__ along, or without "all:" drop the
// names that begin with "_".
//
//go:embed python/*.py python/*/*.py python/*/*/*.py
var files embed.FS

// Files returns the guest's Python tree: boot.py and the packages beside it.
func Files() fs.FS {
	sub, err := fs.Sub(files, "python")
	if err != nil {
		panic(err) // the directory is named by the embed directive above
	}
	return sub
}
