//go:build !darwin && !windows

package keyring

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"
)

// connecting is how long a bus on this machine may take to say what there is on it.
const connecting = 2 * time.Second

// secrets is the name of a Secret Service
// (https://specifications.freedesktop.org/secret-service/latest/, read November 2026).
const secrets = "org.freedesktop.secrets"

// reachable says whether a keyring can be asked: go-keyring would start a bus where there is none, and wait for good
// for one that does not answer.
func reachable(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, connecting, errors.New("the session's bus (D-Bus) does not answer"))
	defer cancel()
	conn, err := dbus.SessionBusPrivateNoAutoStartup(dbus.WithContext(ctx))
	if err != nil {
		return errors.New("there is no session bus (D-Bus) to reach one by")
	}
	defer conn.Close()
	if err = conn.Auth(nil); err == nil {
		err = conn.Hello()
	}
	var owned bool
	var names []string
	if err == nil {
		err = conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, secrets).Store(&owned)
	}
	if err == nil && !owned {
		err = conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.ListActivatableNames", 0).Store(&names)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return errors.New("the session's bus (D-Bus) lets nobody in: " + err.Error())
	case !owned && !slices.Contains(names, secrets):
		return errors.New("no program here is a keyring (Secret Service)")
	}
	return nil
}

// disconnect closes the connection that go-keyring keeps.
func disconnect() {
	if conn, err := dbus.SessionBus(); err == nil {
		_ = conn.Close()
	}
}
