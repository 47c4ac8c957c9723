package watchdog

import "time"

// Known has the processes of a guest listed twice: from then on they are known.
func (w *Watch) Known() {
	w.list()
	w.list()
}

// Late has the last look be so long ago.
func (w *Watch) Late(d time.Duration) { w.listed = time.Now().Add(-d) }

// ExactMemory is what a process and those below it are taken to hold.
func ExactMemory(pid int) (total int64) {
	for _, p := range tree(pid, false) {
		total += p.exactly(false)
	}
	return total
}

// LongMapping says whether a process has a file mapped by a path that no program can open it by.
func LongMapping(pid int) bool {
	_, err := readMappings(pid, fewMappings)
	return err == errLongMapping
}
