//go:build !linux

package escape

import (
	"errors"

	"codemode/internal/sandbox"
)

// decoys are what stands outside of a sandbox for its guest to reach.
type decoys struct{}

func newDecoys() (*decoys, error) {
	return nil, errors.New("the attempts are written for sandboxes on Linux")
}

func (*decoys) facts(sandbox.Policy) string { return "" }

func (*decoys) check() error { return nil }

func (*decoys) close() {}
