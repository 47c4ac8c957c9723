package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"codemode/internal/sandbox/watchdog"
)

// clockTicks is the unit of processor time in /proc: 100 a second wherever Linux runs CPython (proc_pid_stat(5)).
const clockTicks = time.Second / 100

// A cpuMeter adds up the processor time of a guest's processes, those included that have ended since it saw them.
type cpuMeter struct {
	mu   sync.Mutex
	seen map[string]time.Duration // by pid and start time
}

// CPU is exact where the guest has a cgroup.
func (s *nativeSandbox) CPU() (time.Duration, bool) {
	if s.group != nil {
		if b, err := os.ReadFile(filepath.Join(s.group.dir, "cpu.stat")); err == nil {
			for line := range bytes.Lines(b) {
				if n, ok := bytes.CutPrefix(line, []byte("usage_usec ")); ok {
					usec, _ := strconv.ParseInt(string(bytes.TrimSpace(n)), 10, 64)
					return time.Duration(usec) * time.Microsecond, true
				}
			}
		}
	}
	return s.meter.read(watchdog.Tree(s.first())), true
}

func (m *cpuMeter) read(pids []int) (total time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil {
		m.seen = map[string]time.Duration{}
	}
	for _, pid := range pids {
		b, err := os.ReadFile(procFile(pid, "stat"))
		fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // from the third one of proc_pid_stat(5)
		if err != nil || len(fields) < 20 {
			continue // it has just ended
		}
		user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
		system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
		m.seen[strconv.Itoa(pid)+" "+string(fields[19])] = time.Duration(user+system) * clockTicks
	}
	for _, used := range m.seen {
		total += used
	}
	return total
}
