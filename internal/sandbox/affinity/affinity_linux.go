package affinity

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	mostThreads = 256 // of each process that is to share, with all below it
	mostLooks   = 16  // at those that may start others meanwhile
)

// lateLook is how long after a release it is looked for those who were being started then. Tests have their own.
var lateLook = 100 * time.Millisecond

// Errors of Share.
var (
	errRestricted = errors.New("codemode may not use all processors of the machine, or there is one alone")
	errChosen     = errors.New("a process may not use all processors of the machine, or it has ended")
	errMany       = errors.New("a process has too many threads, with those below it")
	errShared     = errors.New("codemode shares a processor already")
)

var (
	mu      sync.Mutex
	shared  bool        // whether this process shares a processor
	late    func()      // what is still to be looked for after the last release; nil is nothing
	lateEnd *time.Timer // when it is
)

// Share has all threads of codemode, and those of the processes and all below them, use the processor alone that the
// first of them was on last. Who is started by one of them comes to share it, too. Once all have what they had before,
// release returns; calling it again does nothing. Where one of the processes has chosen its processors, nothing is
// shared. Of a codemode that is killed nothing is released: its guests end with it, and so do its servers, which their
// guards give a second.
func Share(pids ...int) (release func(), err error) {
	mu.Lock()
	defer mu.Unlock()
	if shared {
		return nil, errShared
	}
	lookAgain()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, err
	}
	if n := all.Count(); n < 2 || n != online() {
		return nil, errRestricted
	}
	for _, pid := range pids {
		if err := mayMove(pid, all); err != nil {
			return nil, err
		}
	}
	one.Set(processor(pids[0]))
	before := children()
	move(all, one, func() []int { return withOwn(pids) })
	shared = true
	everybody := func() []int {
		return withOwn(append(without(children(), before), pids...))
	}
	return sync.OnceFunc(func() {
		mu.Lock()
		defer mu.Unlock()
		seen := move(one, all, everybody)
		shared = false
		late = func() {
			move(one, all, func() []int { return without(everybody(), seen) })
		}
		lateEnd = time.AfterFunc(lateLook, func() {
			mu.Lock()
			defer mu.Unlock()
			lookAgain()
		})
	}), nil
}

// lookAgain moves back who was being started at the time of the last release, by a thread that was still bound: it has
// what that one had, and is seen only once it has been started. The caller holds mu.
func lookAgain() {
	if late != nil {
		lateEnd.Stop()
		late()
		late = nil
	}
}

// mayMove says why a process and those below it are to be left; nil where each of their threads may use all processors.
func mayMove(pid int, all unix.CPUSet) error {
	tids := threads(pid)
	switch {
	case len(tids) == 0:
		return errChosen
	case len(tids) > mostThreads:
		return errMany
	}
	for _, tid := range tids {
		var has unix.CPUSet
		if err := unix.SchedGetaffinity(tid, &has); err == nil && has != all { // else it has just ended
			return errChosen
		}
	}
	return nil
}

// move moves those that list finds, and returns whom it has found last. A thread that has not been moved may start
// another, so it looks until there is none, or what there is starts others all the time.
func move(from, to unix.CPUSet, list func() []int) (seen []int) {
	for moved, n := true, 0; moved && n < mostLooks; n++ {
		moved, seen = false, list()
		for _, tid := range seen {
			moved = set(tid, from, to) || moved
		}
	}
	return seen
}

// without is a list without those of another.
func without(list, other []int) []int {
	return slices.DeleteFunc(list, func(n int) bool { return slices.Contains(other, n) })
}

// withOwn are the threads of this process, and of others with all below them.
func withOwn(pids []int) []int {
	tids := tasks(os.Getpid())
	for _, pid := range pids {
		tids = append(tids, threads(pid)...)
	}
	return tids
}

// threads are those of a process and all below it.
func threads(pid int) (tids []int) {
	for _, tid := range tasks(pid) {
		tids = append(tids, tid)
		for _, child := range startedBy(pid, tid) {
			tids = append(tids, threads(child)...)
		}
	}
	return tids
}

// children are the processes that codemode has started.
func children() (pids []int) {
	for _, tid := range tasks(os.Getpid()) {
		pids = append(pids, startedBy(os.Getpid(), tid)...)
	}
	return pids
}

// tasks are the threads of a process; of one that has ended there are none.
func tasks(pid int) (tids []int) {
	entries, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	for _, e := range entries {
		tid, _ := strconv.Atoi(e.Name())
		tids = append(tids, tid)
	}
	return tids
}

// startedBy are the processes that a thread has started.
func startedBy(pid, tid int) (pids []int) {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/children")
	for _, word := range bytes.Fields(b) {
		child, _ := strconv.Atoi(string(word))
		pids = append(pids, child)
	}
	return pids
}

// set moves a thread that may use these processors alone. Who has chosen others meanwhile keeps them.
func set(tid int, from, to unix.CPUSet) bool {
	var has unix.CPUSet
	return unix.SchedGetaffinity(tid, &has) == nil && has == from && unix.SchedSetaffinity(tid, &to) == nil
}

// processor is the one that a process's first thread was on last (proc_pid_stat(5), the 39th field); 0 where it has
// ended.
func processor(pid int) (n int) {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]); len(fields) > 36 {
		n, _ = strconv.Atoi(string(fields[36]))
	}
	return n
}

// online counts the processors of the machine that are in use (cpu(7)): "0-3,6".
func online() (n int) {
	b, _ := os.ReadFile("/sys/devices/system/cpu/online")
	for part := range strings.SplitSeq(string(bytes.TrimSpace(b)), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil {
			return 0
		}
		n += to - from + 1
	}
	return n
}
