package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"codemode/internal/sandbox/watchdog"

	"golang.org/x/sys/unix"
)

// How long after a guest's pipes, epoll entries and locks were counted they are again. Of a guest of few processes that
// takes 0.2 ms; of one of 128 that have 250 files each, some 100, and it would have codemode busy altogether.
const (
	quotasSoonest = 100 * time.Millisecond
	quotasLatest  = 500 * time.Millisecond // for a machine on which everything takes long
	quotasPause   = 3                      // times as long as counting took: it has a quarter of a processor
)

// untilNext is how long to wait with the next count, after one that took so long.
func untilNext(took time.Duration) time.Duration {
	return min(max(quotasPause*took, quotasSoonest), quotasLatest)
}

// Bounds where the user's own quota is used up: more than that of it is too much for a guest then, too.
const (
	fewPipes   = MaxPipes / 4
	fewWatches = MaxWatches / 16
)

// mostWaiting limits the sum of a guest's pipes and of the files that its threads wait for, where the guest runs as
// another user than codemode, which then cannot see how much of that user's quota is left.
const mostWaiting = 2 * MaxPipes

// mostHidden limits the worst case of epoll entries that cannot be counted: a closed epoll lives on while a thread
// waits for it, and one that was closed and reopened under the same number between two looks goes unnoticed. So each
// file that is waited for counts as an epoll of the largest size seen.
const mostHidden = 8 * MaxWatches

// quotas looks at what a guest has of what the kernel counts for the user outside, and of what it does not count.
// It belongs to one goroutine.
type quotas struct {
	other   bool               // the guest's user outside is another one than codemode's
	files   int                // descriptors a process of the guest may have
	waits   map[int]int        // files that each thread waited for at the last look
	watches map[descriptor]int // entries of each epoll at the last look
	largest int                // the most entries that one epoll had at a look
	gone    []int              // entries that went away and may be held by who waits, the most first
	list    []watchdog.Member  // of this look
	rest    string             // watchdog.Rest before it
}

// A descriptor is one of a process.
type descriptor struct {
	pid  int
	name string
}

func newQuotas(files int) *quotas {
	if files == 0 {
		files = math.MaxInt16
	}
	return &quotas{other: os.Geteuid() == 0, files: files}
}

// watchQuotas calls over once, when the guest whose first process is pid holds more than it may, and returns then or
// when done is closed.
func watchQuotas(pid, files int, done <-chan struct{}, over func(ExitCause)) {
	q := newQuotas(files)
	next := time.NewTimer(quotasSoonest)
	defer next.Stop()
	for {
		select {
		case <-done:
			return
		case <-next.C:
			began := time.Now()
			if list := watchdog.Members(pid); !q.rests(list) {
				if cause := q.look(list); cause != ExitSelf {
					over(cause)
					return
				}
			}
			next.Reset(untilNext(time.Since(began)))
		}
	}
}

// rests tells whether none of the processes has run since before the last look: they have what they had then.
func (q *quotas) rests(list []watchdog.Member) bool {
	last := q.rest
	q.rest = watchdog.Rest(list)
	return q.rest != "" && q.rest == last
}

// look tells what a guest of those processes has too much of; ExitSelf is nothing.
func (q *quotas) look(list []watchdog.Member) ExitCause {
	q.list = list
	pipes, watches := q.descriptors()
	waiting := q.waiting()
	watches += q.hidden(waiting)
	switch {
	case pipes > MaxPipes, q.other && pipes+waiting > mostWaiting:
		return ExitPipes
	case watches > MaxWatches, waiting*q.largest > mostHidden:
		return ExitWatches
	case locks(list) > MaxLocks:
		return ExitLocks
	case q.other:
		return ExitSelf
	case pipes+waiting > fewPipes && pipesUsedUp():
		return ExitPipes
	case (waiting > fewPipes || watches > fewWatches) && watchesUsedUp():
		return ExitWatches
	}
	return ExitSelf
}

// descriptors counts pipes, and entries of epolls, no further than is too much. Processes that have one open share it,
// in part: each pipe counts once. An epoll is read as soon as it is seen, for it may be closed at any time; which have
// fewer entries than at the last look is noted.
func (q *quotas) descriptors() (pipes, watches int) {
	seen := map[string]bool{}
	last := q.watches
	q.watches = make(map[descriptor]int, len(last))
	for _, m := range q.list {
		entries, _ := os.ReadDir(procFile(m.TID, "fd")) // of one that has just ended there are none
		for _, e := range entries {
			target, _ := os.Readlink(procFile(m.TID, "fd/"+e.Name())) // of one that has just been closed there is none
			switch {
			case strings.HasPrefix(target, "pipe:"):
				seen[target] = true
			case target == "anon_inode:[eventpoll]" && watches <= MaxWatches:
				d := descriptor{m.TID, e.Name()}
				n := countWatches(d, MaxWatches+1-watches)
				q.watches[d] = n
				q.largest = max(q.largest, n)
				watches += n
			}
		}
	}
	for d, n := range last {
		if less := n - q.watches[d]; less > 0 {
			q.gone = append(q.gone, less)
		}
	}
	return len(seen), watches
}

// hidden is what is left of epolls that went away at most: no more of them than files that threads wait for.
func (q *quotas) hidden(waiting int) (total int) {
	slices.SortFunc(q.gone, func(a, b int) int { return b - a })
	q.gone = q.gone[:min(len(q.gone), waiting)]
	for _, n := range q.gone {
		total += n
	}
	return total
}

// countWatches counts the entries of an epoll, up to most. An entry is of a file and the number it had: the number may
// be another file's by now, and so entries can be many more than files.
func countWatches(d descriptor, most int) (n int) {
	f, err := os.Open(procFile(d.pid, "fdinfo/"+d.name))
	if err != nil {
		return 0 // it has just been closed
	}
	defer f.Close()
	buf := make([]byte, 4096)
	var rest int // bytes of a line that was begun
	for n < most {
		got, err := f.Read(buf[rest:])
		text := buf[:rest+got]
		end := bytes.LastIndexByte(text, '\n') + 1
		n += bytes.Count(text[:end], []byte("tfd:"))
		rest = copy(buf, text[end:])
		if err != nil || rest == len(buf) {
			break
		}
	}
	return min(n, most)
}

// locks counts the locks on parts of files that processes hold or wait for, no further than is too much. In the table
// are all of the machine's; a guest's are each in the name of a process of it that lives.
func locks(list []watchdog.Member) (n int) {
	table, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer table.Close()
	ours := make(map[string]bool, len(list))
	for _, m := range list {
		ours[strconv.Itoa(m.PID)] = true
	}
	for lines := bufio.NewScanner(table); n <= MaxLocks && lines.Scan(); {
		_, about, _ := bytes.Cut(lines.Bytes(), []byte(" POSIX "))
		if fields := bytes.Fields(about); len(fields) > 2 && ours[string(fields[2])] { // ADVISORY WRITE 4711 ...
			n++
		}
	}
	return n
}

// pipesUsedUp tells whether new pipes of this user are small, for its quota of their pages is used up.
func pipesUsedUp() bool {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return errors.Is(err, unix.ENFILE) // as it is at the hard limit
	}
	defer unix.Close(ends[0])
	defer unix.Close(ends[1])
	size, err := unix.FcntlInt(uintptr(ends[0]), unix.F_GETPIPE_SZ, 0)
	return err == nil && size < 16*os.Getpagesize()
}

// watchesUsedUp tells whether this user can have no more entries of epolls.
func watchesUsedUp() bool {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	defer unix.Close(epoll)
	file, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return false
	}
	defer unix.Close(file)
	return errors.Is(unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, file, &unix.EpollEvent{}), unix.ENOSPC)
}
