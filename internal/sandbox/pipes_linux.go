package sandbox

import (
	"os"
	"strings"
	"time"

	"codemode/internal/sandbox/watchdog"
)

// pipesEvery is how often pipes are counted. Of a guest of a few processes that takes less than 0.1 ms.
const pipesEvery = 100 * time.Millisecond

// watchPipes calls over once, when the guest whose first process is pid holds more than MaxPipes, and returns then or when
// done is closed.
func watchPipes(pid int, done <-chan struct{}, over func()) {
	tick := time.NewTicker(pipesEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if holdsMorePipes(watchdog.Tree(pid), MaxPipes) {
				over()
				return
			}
		}
	}
}

// holdsMorePipes tells whether processes hold more than so many pipes. What few descriptors are, is not looked at.
func holdsMorePipes(pids []int, limit int) bool {
	descriptors := make(map[int][]os.DirEntry, len(pids))
	total := 0
	for _, pid := range pids {
		descriptors[pid], _ = os.ReadDir(procFile(pid, "fd")) // of one that has just ended there are none
		total += len(descriptors[pid])
	}
	if total <= limit {
		return false
	}
	pipes := map[string]bool{}
	for pid, entries := range descriptors {
		for _, e := range entries {
			if target, err := os.Readlink(procFile(pid, "fd/"+e.Name())); err == nil && strings.HasPrefix(target, "pipe:") {
				pipes[target] = true
			}
		}
	}
	return len(pipes) > limit
}
