package affinity

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"codemode/internal/sandbox/watchdog"

	"golang.org/x/sys/unix"
)

// Errors of Share.
var (
	errRestricted = errors.New("codemode may not use all processors of the machine, or there is one alone")
	errShared     = errors.New("codemode shares a processor with another guest")
)

// shared is whether this process shares a processor.
var shared atomic.Bool

// Share has all threads of codemode, and those of the process and all below it, use the processor alone that the caller
// runs on. Who is started by one of them comes to share it, too. Once all have what they had before, release returns;
// calling it again does nothing.
func Share(pid int) (release func(), err error) {
	if !shared.CompareAndSwap(false, true) {
		return nil, errShared
	}
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		shared.Store(false)
		return nil, err
	}
	var cpu uint32
	_, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	if n := all.Count(); errno != 0 || n < 2 || n != online() {
		shared.Store(false)
		return nil, errRestricted
	}
	one.Set(int(cpu))
	before := children()
	move(threads(pid), all, one)
	moveOwn(all, one)
	return sync.OnceFunc(func() {
		moveOwn(one, all)
		move(threads(pid), one, all)
		for _, child := range children() {
			if !slices.Contains(before, child) {
				move(threads(child), one, all)
			}
		}
		shared.Store(false)
	}), nil
}

// children are the processes that codemode has started.
func children() (pids []int) {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range files {
		b, _ := os.ReadFile(file) // of a thread that has just ended there are none
		for _, word := range bytes.Fields(b) {
			pid, _ := strconv.Atoi(string(word))
			pids = append(pids, pid)
		}
	}
	return pids
}

// threads are those of a process and all below it.
func threads(pid int) (tids []int) {
	for _, m := range watchdog.Members(pid) {
		if len(m.Threads) == 0 {
			tids = append(tids, m.TID)
		}
		tids = append(tids, m.Threads...)
	}
	return tids
}

// moveOwn moves the threads of this process. A thread that has not been moved may start another, so it looks until
// there is none.
func moveOwn(from, to unix.CPUSet) {
	for moved := true; moved; {
		moved = false
		entries, _ := os.ReadDir("/proc/self/task")
		for _, e := range entries {
			tid, _ := strconv.Atoi(e.Name())
			moved = set(tid, from, to) || moved
		}
	}
}

func move(tids []int, from, to unix.CPUSet) {
	for _, tid := range tids {
		set(tid, from, to)
	}
}

// set moves a thread that may use these processors alone. A guest may choose its own, which stay as they are.
func set(tid int, from, to unix.CPUSet) bool {
	var has unix.CPUSet
	return unix.SchedGetaffinity(tid, &has) == nil && has == from && unix.SchedSetaffinity(tid, &to) == nil
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
