package watchdog

import "time"

// Known has the processes of a guest listed twice: from then on they are known.
func (w *Watch) Known() {
	w.list()
	w.list()
}

// Late has the last look be so long ago.
func (w *Watch) Late(d time.Duration) { w.listed = time.Now().Add(-d) }

// Listings is how many there were, and Rest how long the last one is followed by none.
func (w *Watch) Listings() (n int, rest time.Duration) { return w.listings, w.rest }

// Counts lists the processes, and says how many mappings of theirs were counted, and those of how many are as before.
func (w *Watch) Counts() (counted int64, before int) {
	list := w.list()
	for _, p := range list {
		if w.hadMappings(p) > 0 {
			before++
		}
	}
	return w.mappings(list, 0), before
}

// RealTimes accounts for looks of which each takes so much of every so much time, and says for which the watch came
// first.
func RealTimes(takes, every time.Duration, looks int) (first []bool) {
	start := time.Now()
	u := &priority{left: realTimeBurst, at: start, realTime: true}
	for n := range looks {
		u.account(start.Add(time.Duration(n+1)*every), time.Duration(n+1)*takes)
		first = append(first, u.realTime)
	}
	return first
}

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
