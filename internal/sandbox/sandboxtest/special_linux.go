package sandboxtest

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// makeSpecial makes what is neither file nor folder, with somebody at the other end, and returns the names.
func makeSpecial(t *testing.T, dir string) []string {
	t.Helper()
	fifo, socket := filepath.Join(dir, "fifo"), filepath.Join(dir, "socket")
	must(t, unix.Mkfifo(fifo, 0o600))
	f, err := os.OpenFile(fifo, os.O_RDONLY|unix.O_NONBLOCK, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	for _, kind := range []string{"unix", "unixgram"} {
		address := &net.UnixAddr{Name: socket + kind, Net: kind}
		if kind == "unix" {
			l, err := net.ListenUnix(kind, address)
			must(t, err)
			t.Cleanup(func() { l.Close() })
		} else {
			c, err := net.ListenUnixgram(kind, address)
			must(t, err)
			t.Cleanup(func() { c.Close() })
		}
		must(t, os.Chmod(address.Name, 0o777))
	}
	return []string{"fifo", "socketunix", "socketunixgram"}
}

// mountBelow mounts a folder on one in a folder, where that is allowed, and returns the latter's name.
func mountBelow(t *testing.T, dir string) []string {
	t.Helper()
	below := filepath.Join(dir, "below")
	must(t, os.Mkdir(below, 0o777))
	if unix.Mount("below", below, "tmpfs", 0, "mode=777") == nil {
		t.Cleanup(func() { must(t, unix.Unmount(below, unix.MNT_DETACH)) })
	}
	return []string{"below"}
}
