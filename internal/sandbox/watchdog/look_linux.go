package watchdog

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// A guest with much left is looked at every longest, which takes 0.1 % of a core (2026-11).
	longest  = 50 * time.Millisecond
	shortest = 2 * time.Millisecond

	// growth is how many bytes a second a processor fills at most, with pages of 4 KB.
	growth = 2 << 30

	// socketSize is what a Unix socket holds at most: its buffer, and a message that was begun when that had room.
	// It is in no process's memory.
	socketSize = 400 << 10
)

// A Watch is over one guest, and belongs to one goroutine.
type Watch struct {
	guest   Guest
	mounts  []*os.File // that the guest may write to
	sockets *os.File   // table of the guest's Unix sockets; nil without a network namespace
	stopped *standstill
	counted *count // nil before it was first necessary
}

// Open opens the files to read before the guest runs any code, so that it cannot hide them later.
// The caller calls Close.
func Open(g Guest) *Watch {
	w := &Watch{guest: g}
	for _, dir := range g.Dirs {
		fd, err := unix.Open(procFile(g.PID, "root"+dir), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == nil {
			w.mounts = append(w.mounts, os.NewFile(uintptr(fd), dir))
		}
	}
	if g.Sockets {
		w.sockets, _ = os.Open(procFile(g.PID, "net/unix")) // nil counts as none
	}
	return w
}

// Close lets go of a guest, which goes on where it was stopped.
func (w *Watch) Close() {
	w.release(unix.SIGCONT)
	for _, f := range append(w.mounts, w.sockets) {
		if f != nil {
			f.Close()
		}
	}
}

// Look tells whether the guest is over its limit, or else when to look again. Who is over it has been stopped.
func (w *Watch) Look() (over bool, next time.Duration) {
	files := tmpfsUse(w.mounts) + int64(unixSockets(w.sockets))*socketSize
	list := w.list()
	used := sum(list)
	if files+used > w.guest.Limit && w.counted != nil {
		used = w.counted.atMost(list)
	}
	if files+used > w.guest.Limit {
		exact, still := w.exactly(w.guest.Limit - files)
		if used = exact; files+used > w.guest.Limit || !still {
			return true, 0
		}
		w.release(unix.SIGCONT)
	}
	left := w.guest.Limit*5/4 - files - used
	soonest := time.Duration(left*int64(time.Second)/growth) / time.Duration(runtime.NumCPU())
	return false, min(max(shortest, soonest), longest)
}

// Kill ends the processes of a guest that is over its limit. Its first one goes last: the others would go on until
// all of its memory is given back.
func (w *Watch) Kill() { w.release(unix.SIGKILL) }

func (w *Watch) release(sig unix.Signal) {
	if w.stopped != nil {
		w.stopped.end(sig)
		w.stopped = nil
	}
}

// tmpfsUse is what the mounts hold, in bytes.
func tmpfsUse(mounts []*os.File) int64 {
	var total int64
	for _, f := range mounts {
		var st unix.Statfs_t
		if unix.Fstatfs(int(f.Fd()), &st) == nil && st.Type == unix.TMPFS_MAGIC {
			total += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return total
}

// unixSockets counts the sockets in a table: lines after a heading.
func unixSockets(table *os.File) int {
	if table == nil {
		return 0
	}
	if _, err := table.Seek(0, io.SeekStart); err != nil {
		return 0
	}
	b, err := io.ReadAll(table)
	if err != nil {
		return 0
	}
	return max(0, bytes.Count(b, []byte("\n"))-1)
}
