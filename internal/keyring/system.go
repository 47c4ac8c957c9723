//go:build darwin || windows

package keyring

import "context"

// reachable says that the system has a keyring.
func reachable(context.Context) error { return nil }

// disconnect has nothing to do: nothing is connected.
func disconnect() {}
