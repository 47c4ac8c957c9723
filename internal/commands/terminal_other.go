//go:build !linux

package commands

import "context"

// terminalLock locks nothing here: no other system is known to lock a terminal's device for all that have it open.
type terminalLock struct{}

func lockTerminal(any) *terminalLock { return nil }

func (*terminalLock) close()              {}
func (*terminalLock) begin()              {}
func (*terminalLock) end()                {}
func (*terminalLock) waitUnasked()        {}
func (*terminalLock) setsModes()          {}
func (*terminalLock) moded() bool         { return false }
func (*terminalLock) stopped(string) bool { return false }
func (*terminalLock) yields(error) bool   { return false }

func (*terminalLock) hold(ctx context.Context) (context.Context, func(), error) {
	return ctx, func() {}, nil
}
