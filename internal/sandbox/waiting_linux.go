package sandbox

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"sync"

	"codemode/internal/sandbox/seccomp"
)

// A holding is how many files a system call keeps while it waits, with or without a descriptor of them.
type holding struct {
	files int // that many
	arg   int // or as many as this argument says, where files is 0

	restarted bool // it may be another call, which went on after a stop with the arguments of before
}

// holdings are the calls that keep what they wait for, by number. Reading and writing do, too, but no epoll, and one
// pipe for a thread, of which there are few.
var holdings = sync.OnceValue(func() map[int]holding {
	calls := map[string]holding{
		"poll": {arg: 1}, "ppoll": {arg: 1}, "select": {arg: 0}, "pselect6": {arg: 0},
		"epoll_wait": {files: 1}, "epoll_pwait": {files: 1}, "epoll_pwait2": {files: 1},
		"flock": {files: 1}, "fcntl": {files: 1},
		"restart_syscall": {arg: 1, restarted: true}, // as poll
	}
	numbers := seccomp.Numbers(runtime.GOARCH)
	byNumber := make(map[int]holding, len(calls))
	for name, h := range calls {
		if nr, ok := numbers[name]; ok {
			byNumber[nr] = h
		}
	}
	return byNumber
})

// waiting is how many files the guest's threads wait for at most. They keep those whose descriptors another thread has
// closed. A process of one thread can close none meanwhile.
func (q *quotas) waiting() (total int) {
	now := make(map[int]int)
	for _, m := range q.list {
		for _, tid := range m.Threads {
			q.walk.step()
			now[tid] = min(q.waitsFor(tid), q.files)
			total += now[tid]
		}
	}
	q.waits = now
	return total
}

// waitsFor is how many files a thread waits for. A running thread may have been woken for a moment only, so its last
// count is halved at each look instead of dropped.
func (q *quotas) waitsFor(tid int) int {
	text, err := os.ReadFile(procFile(tid, "syscall"))
	if err != nil {
		return 0 // it has just ended, or the kernel does not tell
	}
	words := bytes.Fields(text)
	if len(words) < 3 {
		return q.waits[tid] / 2
	}
	nr, err := strconv.Atoi(string(words[0]))
	if err != nil {
		return 0
	}
	h, ok := holdings()[nr]
	if !ok || h.files > 0 {
		return h.files
	}
	if h.restarted && !restartedPoll(tid) {
		return 0
	}
	n, _ := strconv.ParseUint(string(words[1+h.arg]), 0, 64)
	return int(uint32(n)) // as the kernel reads it
}

// restartedPoll tells whether a thread in restart_syscall(2) may be in poll: the call also resumes futex waits and
// nanosleep, which hold no files.
func restartedPoll(tid int) bool {
	place, _ := os.ReadFile(procFile(tid, "wchan")) // where the kernel does not tell, it may
	return !bytes.HasPrefix(place, []byte("futex")) && !bytes.Contains(place, []byte("nanosleep"))
}
