package container

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// shortest is the way with nobody between codemode and the guest. Podman's command hands a descriptor down to a
// container of this machine; docker's daemon can only mount a socket there.
func (e *engine) shortest() way {
	switch {
	case !e.local:
		return viaStreams
	case e.name == Podman:
		return viaDescriptor
	case e.closed: // to sockets
		return viaStreams
	}
	return viaSocket
}

// A socket is the host's end of a socket pair to the guest.
type socket struct{ file *os.File }

func newSocket() (socket, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return socket{}, nil, fmt.Errorf("making the guest's channel: %w", err)
	}
	guest := os.NewFile(uintptr(fds[1]), "guest's channel")
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		guest.Close()
		return socket{}, nil, fmt.Errorf("making the guest's channel: %w", err)
	}
	return socket{os.NewFile(uintptr(fds[0]), "channel")}, guest, nil
}

// Read ends with io.EOF when the guest is gone, also when it left something unread.
func (s socket) Read(p []byte) (int, error) {
	n, err := s.file.Read(p)
	if errors.Is(err, unix.ECONNRESET) {
		err = io.EOF
	}
	return n, err
}

// end has reads end once what is there has been read: the engine's command holds the other end until it has
// cleaned up.
func (s socket) end() {
	if conn, err := s.file.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RD) })
	}
}

func (s socket) Write(p []byte) (int, error) { return s.file.Write(p) }

func (s socket) Close() error { return s.file.Close() }

// openSocket listens where only the user gets, and makes the one directory of it that is mounted open to whoever the
// container's user is. Memory, so that the mount shows nothing of the user's places.
func openSocket(self owner) (*awaited, error) {
	base := "/dev/shm"
	if unix.Access(base, unix.W_OK) != nil {
		base = os.TempDir()
	}
	sweep(base, self)
	dir, err := os.MkdirTemp(base, socketPrefix+self.String()+".")
	if err != nil {
		return nil, fmt.Errorf("making the guest's channel: %w", err)
	}
	a := &awaited{dir: dir, inner: filepath.Join(dir, "c"), ready: make(chan struct{})}
	path := filepath.Join(a.inner, socketName)
	if err = os.Mkdir(a.inner, 0o711); err == nil {
		a.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	}
	if err == nil { // whatever the umask
		err = errors.Join(os.Chmod(a.inner, 0o711), os.Chmod(path, 0o666))
	}
	if err != nil {
		a.Close()
		return nil, fmt.Errorf("making the guest's channel: %w", err)
	}
	return a, nil
}

// sweep removes what starts left that were killed: their codemode has gone, or nobody can tell whether and they are
// old. A start needs its directory for seconds.
func sweep(base string, self owner) {
	found, _ := filepath.Glob(filepath.Join(base, socketPrefix+"*"))
	for _, dir := range found {
		fi, err := os.Lstat(dir)
		if err != nil || !fi.IsDir() {
			continue
		}
		o, ok := ownerIn(filepath.Base(dir), socketPrefix)
		if left := ok && o.gone(self) || time.Since(fi.ModTime()) > abandoned; !left {
			continue
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() {
			_ = os.RemoveAll(dir)
		}
	}
}

// An awaited is a channel that the guest opens. Nothing of it is left on disk once it has.
type awaited struct {
	dir, inner string
	listener   *net.UnixListener
	conn       *net.UnixConn
	err        error
	accepting  bool          // accept was called, or is about to be
	ready      chan struct{} // closed when conn or err is set
}

// accept waits for the guest, or for the end.
func (a *awaited) accept() {
	a.conn, a.err = a.listener.AcceptUnix()
	close(a.ready)
	a.listener.Close()
	_ = os.RemoveAll(a.dir)
}

func (a *awaited) Read(p []byte) (int, error) {
	if <-a.ready; a.err != nil {
		return 0, io.EOF
	}
	n, err := a.conn.Read(p)
	if errors.Is(err, unix.ECONNRESET) {
		err = io.EOF
	}
	return n, err
}

func (a *awaited) Write(p []byte) (int, error) {
	if <-a.ready; a.err != nil {
		return 0, io.ErrClosedPipe
	}
	return a.conn.Write(p)
}

// end stops the wait for a guest that has ended; reads end once what is there has been read: a guest
// whose engine's command has died lives on as long as the engine lets it.
func (a *awaited) end() {
	a.listener.Close()
	if <-a.ready; a.conn != nil {
		_ = a.conn.CloseRead()
	}
}

func (a *awaited) Close() error {
	if a.listener != nil {
		a.listener.Close()
	}
	if a.accepting {
		if <-a.ready; a.conn != nil {
			a.conn.Close()
		}
	}
	return os.RemoveAll(a.dir)
}
