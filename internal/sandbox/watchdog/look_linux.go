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

	// A listing is to take one part in restShare of a processor. Where the page faults since tell that no page can
	// have been taken, the next one comes so much later, but before mappings, which take none, can fill half of what
	// is left.
	restShare = 50

	// growth is how many bytes a second a processor fills at most, with pages of 4 KB.
	growth = 2 << 30

	// listedFast is how many processes are listed as fast as it is found out what may have become of more.
	listedFast = 3

	// socketSize is what a Unix socket holds at most: its buffer, and a message that was begun when that had room.
	// It is in no process's memory.
	socketSize = 400 << 10
)

// A Watch is over one guest, and belongs to one goroutine.
type Watch struct {
	guest   Guest
	due     func() bool
	mounts  []*os.File // that the guest may write to
	sockets *os.File   // table of the guest's Unix sockets; nil without a network namespace

	maxMapCount int64

	handles  map[int]*handle // by process
	listings int
	listed   time.Time     // the last of them
	rest     time.Duration // until the next, where nothing can have been taken
	priority *priority     // nil where it was not raised
	counted  *count        // nil before it was first necessary
	mapped   *mapped       // nil before it was first necessary
	numbered int           // the highest number of a process in its own namespace that was seen
	kernel   int64         // the least memory of the kernel's that was seen since the guest began, see inherited
	held     int64         // by processes, when that was last found out
	faults   int64         // of the machine until then; negative where they were not counted
	waited   bool          // for a process's mappings, so that all were stopped meanwhile
	tight    bool          // the next look is to be soon
	next     int           // in the list, whose mappings were looked through last
	largest  process       // what one held at most, and had of page tables, when they were listed last
}

// Open opens the files to read before the guest runs any code, so that it cannot hide them later. While it counts a
// guest for long it asks now and then whether something else is due, and leaves the rest to another look then. The
// caller calls Close.
func Open(g Guest, due func() bool) *Watch {
	w := &Watch{
		guest: g, due: due, handles: map[int]*handle{}, listed: time.Now(), rest: longest, faults: -1,
		maxMapCount: maxMapCount(), kernel: unreclaimable(),
	}
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
	for pid, h := range w.handles {
		w.forget(pid, h)
	}
	for _, f := range append(w.mounts, w.sockets) {
		if f != nil {
			f.Close()
		}
	}
}

// Look tells whether the guest is over its limit, or else when to look again. Who is over it has been stopped.
func (w *Watch) Look() (over bool, next time.Duration) {
	began := ThreadTime()
	listings := w.listings
	over, next = w.look()
	spent := ThreadTime()
	if w.listings > listings {
		w.rest = max(longest, min(restShare*(spent-began), mappingsFill((w.guest.Limit-w.held)/2)))
	}
	w.priority.account(time.Now(), spent)
	return over, next
}

func (w *Watch) look() (over bool, next time.Duration) {
	files := tmpfsUse(w.mounts) + int64(unixSockets(w.sockets))*socketSize
	room := w.guest.Limit - files
	faults := int64(-1)
	if len(w.handles) > listedFast {
		if w.tight || w.rest > longest {
			faults = pageFaults()
		}
		may := w.mayHold(faults)
		if may > room {
			w.stopKnown()
		} else if time.Since(w.listed) < w.rest {
			return false, w.soonest(files + may)
		}
	}
	list := w.list()
	if w.hidesMemory(list) {
		return true, 0
	}
	used := w.quickly(list, room)
	if w.waited { // all stop by now before they take anything
		w.waited = false
		used = w.quickly(w.list(), room)
	}
	if used > room {
		exact, how := w.exactly(room)
		if used = exact; used > room || how == moved {
			return true, 0
		}
		if how == interrupted {
			return false, 0 // and nobody goes on until then
		}
		faults = pageFaults()
	}
	w.held, w.faults = used, faults
	w.release(unix.SIGCONT)
	next = w.soonest(files + used)
	w.tight = next < longest
	return false, next
}

// quickly is what processes hold at most, by their own figures.
func (w *Watch) quickly(list []process, room int64) int64 {
	used := sum(list)
	if used > room && w.counted != nil {
		used = min(used, w.counted.atMost(list))
	}
	if used <= room {
		used += w.mappings(list, room-used) + w.inherited(list)
	}
	return used
}

// mayHold is what the guest's processes can hold at most: what a machine fills in the time, but no more than a page
// for each of its page faults, and page tables for that.
func (w *Watch) mayHold(faults int64) int64 {
	most := int64(time.Since(w.listed).Seconds()*growth) * int64(runtime.NumCPU())
	if w.faults >= 0 && faults >= w.faults {
		most = min(most, 2*(faults-w.faults)*int64(os.Getpagesize()))
	}
	return w.held + most
}

// soonest is when a guest that uses so much can be at its limit.
func (w *Watch) soonest(used int64) time.Duration {
	left := time.Duration((w.guest.Limit - used) * int64(time.Second) / growth)
	return min(max(shortest, left/time.Duration(runtime.NumCPU())), longest)
}

// Kill ends the processes of a guest that is over its limit. Its first one goes last: the others would go on until
// all of its memory is given back. No signal interrupts a system call that reads a large file, so the memory of each is
// taken from it (process_mrelease(2), Linux 5.15), which ends that, too; of those that were new, the second time.
func (w *Watch) Kill() {
	w.release(unix.SIGKILL)
	for range 2 {
		for _, h := range w.handles {
			_, _, _ = unix.Syscall(unix.SYS_PROCESS_MRELEASE, uintptr(h.pidfd), 0, 0) // it may have ended
		}
		w.list()
	}
}

// inodeSize is what the kernel keeps of a file in memory, beside what is in it. Not everywhere is their number limited.
const inodeSize = 1280

// tmpfsUse is what the mounts hold, in bytes.
func tmpfsUse(mounts []*os.File) int64 {
	var total int64
	for _, f := range mounts {
		var st unix.Statfs_t
		if unix.Fstatfs(int(f.Fd()), &st) == nil && st.Type == unix.TMPFS_MAGIC {
			total += int64(st.Blocks-st.Bfree)*st.Bsize + int64(st.Files-st.Ffree)*inodeSize
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
