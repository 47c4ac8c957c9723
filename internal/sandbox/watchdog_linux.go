package sandbox

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// watchEvery is how often a guest's memory is looked at. At 50 ms a program that allocates as fast
	// as it can was stopped 10 % above its limit, and looking took 0.6 % of a core (2026-11).
	watchEvery = 50 * time.Millisecond

	// maxUnixSockets bounds what a guest can hold in the kernel: buffers of sockets, up to 0.4 MB each,
	// are in no process's memory.
	maxUnixSockets = 512
)

// A watchdog measures the memory of a guest where the kernel does not limit it: what processes hold and
// their page tables, what is in the guest's tmpfs, and roughly what is in socket buffers.
type watchdog struct {
	pid     int // the guest's first process
	limit   int64
	dirs    []string // in memory, as the guest sees them
	sockets bool     // the guest has a network namespace, whose sockets are counted
}

func newWatchdog(pid int, limit int64) *watchdog { return &watchdog{pid: pid, limit: limit} }

// run calls over once, when the guest is over its limit, and returns then or when done is closed.
func (w *watchdog) run(done <-chan struct{}, over func()) {
	v := w.open()
	defer closeFiles(append(v.mounts, v.sockets)...)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if w.exceeded(v) {
				over()
				return
			}
		}
	}
}

// exceeded measures quickly first. That counts pages that processes share more than once, so a guest
// is only condemned by the slower, exact sum.
func (w *watchdog) exceeded(v opened) bool {
	if unixSockets(v.sockets) > maxUnixSockets {
		return true
	}
	files := tmpfsUse(v.mounts)
	pids := descendants(w.pid, nil)
	return files+sum(pids, quickMemory) > w.limit && files+sum(pids, exactMemory) > w.limit
}

// opened is what is opened of a guest at its start, so that it cannot hide it later.
type opened struct {
	mounts  []*os.File // that the guest may write to
	sockets *os.File   // table of the guest's Unix sockets; nil without a network namespace
}

func (w *watchdog) open() opened {
	var v opened
	for _, dir := range w.dirs {
		fd, err := unix.Open(procFile(w.pid, "root"+dir), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == nil {
			v.mounts = append(v.mounts, os.NewFile(uintptr(fd), dir))
		}
	}
	if w.sockets {
		v.sockets, _ = os.Open(procFile(w.pid, "net/unix")) // nil counts as none
	}
	return v
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

// descendants lists a process and those below it, each by a thread of it that lives: of a process whose
// first thread has ended before the others, /proc would tell of no memory. In a pid namespace nobody leaves
// this tree: who loses a parent becomes a child of the first process.
func descendants(pid int, list []int) []int {
	threads, err := os.ReadDir(procFile(pid, "task"))
	if err != nil {
		return list // it has just ended
	}
	found := false
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if !found {
			if _, found = kilobytes(tid, "status", "VmRSS:"); found {
				list = append(list, tid)
			}
		}
		b, err := os.ReadFile(procFile(pid, "task/"+t.Name()+"/children"))
		if err != nil {
			continue
		}
		for _, f := range bytes.Fields(b) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				list = descendants(child, list)
			}
		}
	}
	return list
}

func sum(pids []int, memory func(pid int) int64) int64 {
	var total int64
	for _, pid := range pids {
		total += memory(pid)
	}
	return total
}

// quickMemory is what a process holds, with what it shares, in bytes.
func quickMemory(pid int) int64 {
	kb, _ := kilobytes(pid, "status", "RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:")
	return kb << 10
}

// exactMemory is what a process holds, with its part of what it shares. Where the kernel will not tell, it
// is the quick figure, since to be unreadable must not be worth anything.
func exactMemory(pid int) int64 {
	shared, ok := kilobytes(pid, "smaps_rollup", "Pss_Anon:", "Pss_Shmem:", "SwapPss:")
	if !ok {
		return quickMemory(pid)
	}
	tables, _ := kilobytes(pid, "status", "VmPTE:")
	return (shared + tables) << 10
}

// kilobytes adds up fields of a file of a process, and tells whether it has any of them.
func kilobytes(pid int, file string, fields ...string) (total int64, ok bool) {
	b, err := os.ReadFile(procFile(pid, file))
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(b) {
		for _, field := range fields {
			if value, found := bytes.CutPrefix(line, []byte(field)); found {
				kb, _ := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB"))), 10, 64)
				total, ok = total+kb, true
			}
		}
	}
	return total, ok
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
	return bytes.Count(b, []byte("\n")) - 1
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
