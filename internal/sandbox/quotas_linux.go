package sandbox

import (
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"codemode/internal/lazyregexp"
	"codemode/internal/sandbox/watchdog"

	"golang.org/x/sys/unix"
)

// quotasPause is how long after a guest's pipes, epoll entries, locks and files of the kernel were counted they are
// again.
const quotasPause = 100 * time.Millisecond

// Bounds where the user's own quota is used up: more than that of it is too much for a guest then, too.
const (
	fewPipes   = MaxPipes / 4
	fewWatches = MaxWatches / 16
)

// usedUpTime is how long the quota has to be used up without a break. Who has used it up in less than that is ended for
// more than a guest may have, and those beside it go on.
const usedUpTime = 2 * time.Second

// mostWaiting limits the sum of a guest's pipes and of the files that its threads wait for, where the guest runs as
// another user than codemode, which then cannot see how much of that user's quota is left.
const mostWaiting = 2 * MaxPipes

// memoryFile is the link of a descriptor by which the memory of a process can be read, and the number of that process.
// Who reads keeps all of the memory, also when the process has ended, and then no process is to be found that has it.
var memoryFile = lazyregexp.New(`^(?:/proc)?/(\d+)/(?:task/\d+/)?(?:mem|pagemap)(?: \(deleted\))?$`)

// readsMemory tells whether a link is that of another process's memory. own is the number of the process that has it.
func readsMemory(link string, own int) bool {
	if !strings.Contains(link, "mem") && !strings.Contains(link, "pagemap") {
		return false
	}
	found := memoryFile().FindStringSubmatch(link)
	return found != nil && found[1] != strconv.Itoa(own)
}

// unboundedFile is the link of such a descriptor; of another mount namespace it begins at the mount.
var unboundedFile = lazyregexp.New(`^(/proc)?/(\d+/(task/\d+/)?(maps|smaps|smaps_rollup|numa_maps|environ|fdinfo/\d+)|locks)$`)

// isUnbounded tells whether a link is that of one; few are compared with the pattern.
func isUnbounded(link string) bool {
	may := strings.Contains(link, "maps") || strings.HasSuffix(link, "/environ") || strings.HasSuffix(link, "/locks") ||
		strings.Contains(link, "/fdinfo/")
	return may && unboundedFile().MatchString(link)
}

// mostHidden limits the worst case of epoll entries that cannot be counted: a closed epoll lives on while a thread
// waits for it, and one that was closed and reopened under the same number between two looks goes unnoticed. So each
// file that is waited for counts as an epoll of the largest size seen.
const mostHidden = 8 * MaxWatches

// quotas looks at what a guest has of what the kernel counts for the user outside, and of what it does not count.
// It belongs to one goroutine.
type quotas struct {
	walk    walk
	program bool                    // it is a server, of which the kernel's files alone are counted
	mounts  map[string]bool         // kernelMounts, when they were last read
	other   bool                    // the guest's user outside is another one than codemode's
	files   int                     // descriptors a process of the guest may have
	waits   map[int]int             // files that each thread waited for at the last look
	watches map[descriptor]int      // entries of each epoll at the last look
	largest int                     // the most entries that one epoll had at a look
	gone    []int                   // entries that went away and may be held by who waits, the most first
	since   map[ExitCause]time.Time // what is so at every look, for which it is ended later
	list    []watchdog.Member       // of this look
	rest    string                  // watchdog.Rest before it
}

func newQuotas(files int) *quotas {
	if files == 0 {
		files = math.MaxInt16
	}
	return &quotas{
		walk: walk{pace: &counting}, other: os.Geteuid() == 0, files: files, since: map[ExitCause]time.Time{},
	}
}

// watchQuotas calls over once, when the guest or server whose first process is pid holds more than it may, and returns
// then or when done is closed.
func watchQuotas(pid, files int, program bool, done <-chan struct{}, over func(ExitCause)) {
	q := newQuotas(files)
	q.program = program
	next := time.NewTimer(quotasPause)
	defer next.Stop()
	for {
		select {
		case <-done:
			return
		case <-next.C:
			if cause := q.count(pid); cause != ExitSelf {
				over(cause)
				return
			}
			next.Reset(quotasPause)
		}
	}
}

// count is a look at who has run since the last one, or has something that is not to last.
func (q *quotas) count(pid int) ExitCause {
	q.walk.begin()
	defer q.walk.end()
	if list := watchdog.Members(pid); !q.rests(list) || len(q.since) > 0 {
		return q.look(list)
	}
	return ExitSelf
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
	has := q.descriptors()
	switch {
	case has.kernel > MaxKernelFiles:
		return ExitKernelFiles
	case q.lasts(ExitUnreadable, has.unreadable > 0):
		return ExitUnreadable
	case q.program:
		return ExitSelf
	}
	waiting := q.waiting()
	has.watches += q.hidden(waiting)
	switch {
	case has.pipes > MaxPipes, q.other && has.pipes+waiting > mostWaiting:
		return ExitPipes
	case has.watches > MaxWatches, waiting*q.largest > mostHidden:
		return ExitWatches
	case has.locks > MaxLocks:
		return ExitLocks
	case has.memories > 0, has.unbounded > MaxUnbounded:
		return ExitKernelFiles
	case has.paths > MaxFolders && q.folders() > MaxFolders:
		return ExitFolders
	case q.other:
		return ExitSelf
	case q.lasts(ExitPipes, has.pipes+waiting > fewPipes && pipesUsedUp()):
		return ExitPipes
	case has.pipes+waiting > MaxPipes && q.usedUp(ExitPipes): // it may be who has used it up
		return ExitPipes
	case q.lasts(ExitWatches, (waiting > fewPipes || has.watches > fewWatches) && watchesUsedUp()):
		return ExitWatches
	}
	return ExitSelf
}

func (q *quotas) usedUp(of ExitCause) bool { _, is := q.since[of]; return is }

// lasts tells whether something has been so at every look for as long as a quota may be used up.
func (q *quotas) lasts(of ExitCause, now bool) bool {
	if !now {
		delete(q.since, of)
		return false
	}
	if !q.usedUp(of) {
		q.since[of] = time.Now()
	}
	return time.Since(q.since[of]) > usedUpTime
}

// held is what the descriptors of a guest's processes are of, counted no further than is too much.
type held struct {
	pipes     int // each once, however many descriptors are of it
	watches   int // entries of epolls
	locks     int // on parts of files, once for each descriptor by which the holder has the file
	unbounded int // descriptors of files in /proc whose lines may be of any length
	memories  int // descriptors of other processes' memory
	kernel    int // descriptors of files in /proc and the like
	paths     int // descriptors of files and folders

	unreadable int // processes whose descriptors cannot be read, for they execute a program that they may not read
}

// descriptors counts what the processes hold. An epoll is read as soon as it is seen, for it may be closed at any time;
// which have fewer entries than at the last look is noted. Locks end with any descriptor of their file that their
// process closes, so that each is seen at one. /proc/locks would tell them, too, with all of the machine's: where those
// are 60,000, reading it takes a second.
func (q *quotas) descriptors() (has held) {
	pipes := map[string]bool{}
	last := q.watches
	q.watches = make(map[descriptor]int, len(last))
	for _, m := range q.list {
		mounts := false // were read of this process
		if isShut(m.TID) {
			has.unreadable++
		}
		for d, of := range descriptorsOf(m.TID) {
			q.walk.step()
			isPath := strings.HasPrefix(of.target, "/")
			if q.program && !isPath {
				continue
			}
			tells := of.tells()
			if isPath {
				has.paths++
				if _, known := q.mounts[tells.mount]; !known && !mounts {
					q.mounts, mounts = kernelMounts(m.TID), true
				}
				if q.mounts[tells.mount] && of.isFile() {
					has.kernel++
				}
			}
			if isUnbounded(of.target) {
				has.unbounded++
			}
			if readsMemory(of.target, m.Number) {
				has.memories++
			}
			if strings.HasPrefix(of.target, "pipe:") {
				pipes[of.target] = true
			}
			if tells.watches > 0 {
				q.watches[d] = tells.watches
				q.largest = max(q.largest, tells.watches)
			}
			has.watches += tells.watches
			has.locks += tells.locks
			if has.pipes = len(pipes); has.tooMuch() {
				return has
			}
		}
	}
	for d, n := range last {
		if less := n - q.watches[d]; less > 0 {
			q.gone = append(q.gone, less)
		}
	}
	return has
}

// tooMuch tells of what counts by itself. A guest that has it is ended, so nothing more is to be counted.
func (h held) tooMuch() bool {
	return h.kernel > MaxKernelFiles || h.pipes > MaxPipes || h.watches > MaxWatches || h.locks > MaxLocks
}

// isShut tells whether a thread keeps its descriptors to itself. One that just ends has no memory any more.
func isShut(tid int) bool {
	if !errors.Is(unix.Access(procFile(tid, "fd"), unix.R_OK), unix.EACCES) {
		return false
	}
	memory, _ := os.ReadFile(procFile(tid, "statm"))
	return len(memory) > 0 && memory[0] != '0'
}

// folders counts the descriptors that are of folders.
func (q *quotas) folders() (n int) {
	for _, m := range q.list {
		for d, of := range descriptorsOf(m.TID) {
			q.walk.step()
			if strings.HasPrefix(of.target, "/") {
				fi, err := os.Stat(procFile(m.TID, "fd/"+d.name))
				if err == nil && fi.IsDir() {
					n++
				}
			}
		}
	}
	return n
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
