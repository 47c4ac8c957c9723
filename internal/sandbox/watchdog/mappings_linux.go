package watchdog

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// What the kernel keeps of a mapping (Linux 6.18): vm_area_struct of 192 bytes, up to 85 of the tree that it is in, and
// an anon_vma of 104. With it come links (anon_vma_chain), one for itself and one for each process that had it before
// and handed it on by fork. They stay when those have ended, and nothing in /proc tells of them.
const (
	mappingSize = 384
	linkSize    = 64

	// mappingGrowth is how many bytes a second a processor fills with them at most: half of that was seen.
	mappingGrowth = 1 << 30

	// fewMappings are counted while the guest runs: that takes up to 30 ms.
	fewMappings = 1 << 15
)

// mapped is what the guest's mappings took when they were counted.
type mapped struct {
	total int64
	at    time.Time
}

// mappings is what the guest's mappings take in the kernel, at most: what the sizes of its address spaces and their
// last count allow, or, where that is more than half of what is left, what they are now. Of many that is not found out
// while the guest runs.
func (w *Watch) mappings(list []process, left int64) (total int64) {
	for _, p := range list {
		total += cmp.Or(w.hadMappings(p), w.maxMappings(p)) * w.mappingSize(p)
	}
	if w.mapped != nil {
		since := int64(time.Since(w.mapped.at).Seconds() * mappingGrowth)
		total = min(total, w.mapped.total+since*int64(runtime.NumCPU()))
	}
	if total <= left/2 {
		return total
	}
	now, counted, lines := time.Now(), int64(0), int64(0)
	for _, p := range list {
		n := w.hadMappings(p)
		if n == 0 {
			n = w.countMappings(p, fewMappings-lines)
			if lines += n; lines > fewMappings {
				return total
			}
			if h := w.handles[p.pid]; h != nil && !w.waited {
				h.mappings = n // counted after it was listed: if it ran between the two, the next listing tells
			}
		}
		counted += n * w.mappingSize(p)
	}
	w.mapped = &mapped{counted, now}
	return counted
}

// hadMappings is how many mappings a process has that has not run since they were counted; 0 where that is not known.
func (w *Watch) hadMappings(p process) int64 {
	if h := w.handles[p.pid]; h != nil && h.asleep {
		return h.mappings
	}
	return 0
}

// mappingsFill is how long mappings take at least to fill so many bytes.
func mappingsFill(room int64) time.Duration {
	return time.Duration(float64(room) / mappingGrowth / float64(runtime.NumCPU()) * float64(time.Second))
}

// mappingSize is what one mapping of a process takes at most. Numbers of processes are given in turn, so that there is
// a lower one for each that it descends from.
func (w *Watch) mappingSize(p process) int64 {
	ancestors := p.number
	if w.guest.Processes > 0 {
		ancestors = min(ancestors, w.guest.Processes)
	}
	return mappingSize + linkSize*int64(ancestors)
}

// maxMappings is how many mappings a process can have, each of which is a page or more.
func (w *Watch) maxMappings(p process) int64 {
	return min(p.size/int64(os.Getpagesize()), w.maxMapCount)
}

// What is read of the mappings of one process: a line has some hundred bytes, and the path of a file that programs open
// by it has 4096 at most (PATH_MAX).
const (
	longestMapping = 5 << 10
	mostOfMappings = 8 << 20
)

// countMappings counts the mappings of a process, which are lines, and stops behind most. Where the kernel will not
// tell, or takes long, they are as many as there can be.
func (w *Watch) countMappings(p process, most int64) int64 {
	n, err := w.readMappings(p.tid, most)
	if n == 0 || err != nil {
		return w.maxMappings(p)
	}
	return n
}

var (
	errLongMapping = errors.New("a mapping's path is too long to be opened")
	errManyBytes   = errors.New("the mappings take long to read")
)

// lockPatience is how long the mappings of a process may take to be read before the guest is stopped. Who reads them
// waits for the lock of its address space (mmap_lock), which the process itself has while it forks, or has pages
// protected otherwise: for tenths of a second, in which others would take memory and nobody would look.
const lockPatience = 5 * time.Millisecond

// readMappings is the function of that name, for which no process makes a watch wait while others go on.
func (w *Watch) readMappings(tid int, most int64) (n int64, err error) {
	stopped := make(chan struct{})
	patience := time.AfterFunc(lockPatience, func() {
		defer close(stopped)
		w.waited = true
		for range 3 { // who is new is stopped when it is listed again
			w.stop(w.list())
		}
	})
	n, err = readMappings(tid, most)
	if !patience.Stop() {
		<-stopped
	}
	return n, err
}

// readMappings counts the mappings of a process until they are more than most.
func readMappings(tid int, most int64) (n int64, err error) {
	fd, err := unix.Open(procFile(tid, "maps"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 64<<10)
	line, all := 0, 0
	for n <= most {
		got, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil, got == 0:
			return n, err
		}
		if all += got; all > mostOfMappings {
			return n, errManyBytes
		}
		for part := range bytes.Lines(buf[:got]) {
			if line += len(part); line > longestMapping {
				return n, errLongMapping
			}
			if part[len(part)-1] == '\n' {
				n++
				line = 0
			}
		}
	}
	return n, nil
}

// deepFiles is how many files and folders a guest must have made for the path of one to be longer than longestMapping:
// a name has 255 bytes, four times as long where each is an escape.
const deepFiles = longestMapping / (4 * 255)

// lookedThrough is how many processes are looked through at once for long paths.
const lookedThrough = 16

// hidesMemory says whether a process has a file mapped by a path that no program can open it by. Whoever reads its
// mappings then has the kernel keep as much for each descriptor that is open to them, and nobody counts that; and who
// counts them takes seconds.
func (w *Watch) hidesMemory(list []process) bool {
	if madeFiles(w.mounts) < deepFiles {
		return false
	}
	for range min(len(list), lookedThrough) {
		w.next = (w.next + 1) % len(list)
		if _, err := w.readMappings(list[w.next].tid, fewMappings); err == errLongMapping {
			return true
		}
	}
	return false
}

// madeFiles is how many files and folders there are in what a guest may write to.
func madeFiles(mounts []*os.File) (most uint64) {
	for _, f := range mounts {
		var st unix.Statfs_t
		if unix.Fstatfs(int(f.Fd()), &st) == nil && st.Type == unix.TMPFS_MAGIC {
			most = max(most, st.Files-st.Ffree)
		}
	}
	return most
}

// maxMapCount is how many mappings the kernel lets a process have.
func maxMapCount() int64 {
	b, _ := read("/proc/sys/vm/max_map_count") // where that is not told, they are limited by size alone
	if n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64); err == nil {
		return n
	}
	return math.MaxInt32
}
