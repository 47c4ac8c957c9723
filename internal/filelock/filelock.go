// Package filelock is the lock that processes take on a file of codemode's while they change what is beside it.
// It never reads or writes the file. Whoever takes the lock closes it.
package filelock

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// timeout is how long a lock is waited for. What is done under one takes milliseconds; but whoever may read the file
// can hold it for good.
const timeout = 10 * time.Second

const poll = 10 * time.Millisecond

// Take takes the lock, which its Close gives back. The file is made where it is missing, its folder is not.
func Take(ctx context.Context, file string) (*flock.Flock, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() { // a pipe would be waited for without end
		return nil, fmt.Errorf("taking the lock %q: it is no regular file; move it away", file)
	}
	return wait(ctx, file, (*flock.Flock).TryLockContext)
}

// Share takes a lock as Take does, but beside others who share it.
func Share(ctx context.Context, file string) (*flock.Flock, error) {
	return wait(ctx, file, (*flock.Flock).TryRLockContext)
}

// Try is Take without waiting. It returns nil where somebody else has the lock.
func Try(file string) (*flock.Flock, error) {
	lock := flock.New(file, flock.SetPermissions(0o600))
	if got, err := lock.TryLock(); !got {
		return nil, err
	}
	return lock, nil
}

func wait(
	ctx context.Context, file string, take func(*flock.Flock, context.Context, time.Duration) (bool, error),
) (*flock.Flock, error) {
	wait, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	lock := flock.New(file, flock.SetPermissions(0o600))
	_, err := take(lock, wait, poll)
	switch {
	case err == nil:
		return lock, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case wait.Err() != nil:
		return nil, fmt.Errorf("another process has held the lock %q for %v", file, timeout)
	}
	return nil, fmt.Errorf("waiting for the lock %q: %w", file, err)
}
