package watchdog

// ExactMemory is what a process and those below it are taken to hold.
func ExactMemory(pid int) (total int64) {
	for _, p := range tree(pid, false) {
		total += p.exactly(false)
	}
	return total
}
