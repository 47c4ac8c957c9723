package watchdog

import (
	"bytes"
	"cmp"
	"strconv"
)

// The links of mappings to processes that have ended (see mappingSize) are counted nowhere. How many there may be tell
// the numbers of processes, which are given in turn: one for each that there ever was. Most of those are no ancestors,
// as of the thousandth program that a guest starts. So they count only as far as the memory of the kernel has grown
// that it does not give back, on the whole machine, and not before that has by this part of the limit.
const partGrown = 8

// inherited is what links to processes that have ended take at most.
func (w *Watch) inherited(list []process) (total int64) {
	var many []process
	for _, p := range list {
		w.numbered = max(w.numbered, p.number) // numbers begin again one day
		if p.number > w.guest.Processes && w.guest.Processes > 0 {
			many = append(many, p)
		}
	}
	if len(many) == 0 {
		return 0
	}
	now := unreclaimable()
	w.kernel = min(w.kernel, now)
	grown := now - w.kernel
	if grown < w.guest.Limit/partGrown {
		return 0
	}
	size := linkSize * int64(w.numbered-w.guest.Processes)
	for _, p := range many {
		if total >= grown {
			break
		}
		total += size * cmp.Or(w.hadMappings(p), w.countMappings(p, (grown-total)/size))
	}
	return min(total, grown)
}

// unreclaimable is the kernel's memory on the machine that it does not give back when memory is short; 0 where it does
// not tell.
func unreclaimable() int64 {
	b, _ := read("/proc/meminfo") // where there is none there is no line of it
	for line := range bytes.Lines(b) {
		if fields := bytes.Fields(line); len(fields) > 1 && string(fields[0]) == "SUnreclaim:" {
			kilobytes, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}
