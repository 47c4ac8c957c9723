package sandbox

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"codemode/internal/sandbox/affinity"
	"codemode/internal/sandbox/watchdog"
)

// clockTicks is the unit of processor time in /proc: 100 a second wherever Linux runs CPython (proc_pid_stat(5)).
const clockTicks = time.Second / 100

// A cpuMeter adds up the processor time of a guest's processes. What has begun and ended between two looks leaves
// no trace: a parent that ignores SIGCHLD is not even told of its children's time (getrusage(2)). So where a
// process is new to a look, the guest is held to have worked all the while since the last one. As long as the guest
// cannot know when it is looked at, that is right on average, however short its processes live.
type cpuMeter struct {
	mu     sync.Mutex
	total  time.Duration
	looked time.Time
	alive  map[int]cpuUse // when it was looked, by process
}

// cpuUse is what a process had used.
type cpuUse struct {
	started string // tells a process from another of its number
	used    time.Duration
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

var _ Sharer = (*nativeSandbox)(nil)

// ShareProcessor has the guest, codemode and the others use one processor.
func (s *nativeSandbox) ShareProcessor(others ...int) (release func(), err error) {
	return affinity.Share(append([]int{s.first()}, others...)...)
}

func (m *cpuMeter) read(pids []int) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, alive := time.Now(), map[int]cpuUse{}
	var used time.Duration
	isNew := false
	for _, pid := range pids {
		before, known := m.alive[pid]
		use, err := readCPU(pid)
		if err != nil { // it has just ended
			isNew = isNew || !known
			continue
		}
		if !known || before.started != use.started {
			isNew, before.used = true, 0
		}
		used += use.used - before.used
		alive[pid] = use
	}
	if isNew && !m.looked.IsZero() {
		used = max(used, now.Sub(m.looked))
	}
	m.total += used
	m.looked, m.alive = now, alive
	return m.total
}

func readCPU(pid int) (cpuUse, error) {
	b, err := os.ReadFile(procFile(pid, "stat"))
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // from the third one of proc_pid_stat(5)
	if err != nil || len(fields) < 20 {
		return cpuUse{}, cmp.Or(err, io.ErrUnexpectedEOF)
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return cpuUse{string(fields[19]), time.Duration(user+system) * clockTicks}, nil
}
