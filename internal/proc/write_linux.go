package proc

import "golang.org/x/sys/unix"

// pipeBuf is PIPE_BUF of limits.h: what a pipe takes as a whole or not at all.
const pipeBuf = 4096

// WriteNow writes to the process's standard input at once and as a whole, or says that it has written nothing. Two of
// them do not mix: a pipe takes up to PIPE_BUF bytes so (PIPE_BUF, pipe(7)).
func (p *Process) WriteNow(data []byte) (written bool) {
	if len(data) > pipeBuf {
		return false
	}
	conn, err := p.stdin.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Write(func(fd uintptr) bool {
		n, err := unix.Write(int(fd), data)
		written = err == nil && n == len(data)
		return true // whatever came of it: nobody waits here
	})
	return err == nil && written
}
