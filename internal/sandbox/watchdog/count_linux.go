package watchdog

import (
	"bytes"
	"math"
	"os"
	"strconv"
)

// A count is what a guest held when it was counted exactly, and what tells how much more that can be since.
type count struct {
	total  int64
	tables int64
	faults int64
}

// atMost is what processes can hold now: with each page that is taken, or is no longer shared, comes a page fault.
// Those of the whole machine are counted, for the kernel forgets those of a process that has ended, and it may have
// had them in the memory of another. Page tables are also copied, so they are counted themselves.
func (c *count) atMost(list []process) int64 {
	since := pageFaults() - c.faults
	if since < 0 || since > math.MaxInt32 {
		return math.MaxInt32 << 20
	}
	return c.total - c.tables + tables(list) + since*int64(os.Getpagesize())
}

func tables(list []process) (total int64) {
	for _, p := range list {
		total += p.tables + p.copies
	}
	return total
}

// pageFaults is how many page faults this machine has had; negative where it does not tell.
func pageFaults() int64 {
	b, _ := read("/proc/vmstat") // where there is none there is no line of it
	for line := range bytes.Lines(b) {
		if n, ok := bytes.CutPrefix(line, []byte("pgfault ")); ok {
			faults, _ := strconv.ParseInt(string(bytes.TrimSpace(n)), 10, 64)
			return faults
		}
	}
	return -1
}
