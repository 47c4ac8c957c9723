package watchdog

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A process is one of a guest, as it was when it was listed.
type process struct {
	pid      int
	tid      int   // a thread of it that lives
	threads  []int // more than that one, where there are
	memory   int64 // what it holds, with all that it shares
	tables   int64 // of which its page tables
	copies   int64 // more of them that may be in no process's figures, of what its threads fork or have just left
	size     int64 // of its address space
	number   int   // in its own pid namespace
	stopped  bool  // by a signal
	sleeps   bool  // and has no other thread
	ending   bool  // it has given up its address space, which may not be free yet
	switches int64 // context switches of its only thread, where that one sleeps now; else 0
}

// take takes over what was read of a thread of it.
func (p *process) take(tid int, s status) {
	p.tid, p.memory, p.tables, p.size, p.number, p.stopped = tid, s.memory, s.tables, s.size, s.number, s.stopped
	if p.sleeps = s.sleeps && s.threads == 1; p.sleeps {
		p.switches = s.switches
	}
}

// Tree lists a process and those below it, each by a thread of it that lives.
func Tree(pid int) (tids []int) {
	for _, p := range tree(pid, false) {
		if !p.ending {
			tids = append(tids, p.tid)
		}
	}
	return tids
}

// A Member is a process of a guest.
type Member struct {
	PID     int
	TID     int   // a thread of it that lives
	Threads []int // all of them, where there are more than one
	Number  int   // in its own pid namespace
}

// Members lists a process and those below it.
func Members(pid int) (list []Member) {
	for _, p := range tree(pid, false) {
		if p.ending {
			continue
		}
		list = append(list, Member{PID: p.pid, TID: p.tid, Threads: p.threads, Number: p.number})
	}
	return list
}

// Rest is a stamp of processes none of which runs: as long as it is the same, none has run. One runs where it is empty.
func Rest(list []Member) string {
	var stamp []byte
	for _, m := range list {
		threads := m.Threads
		if len(threads) == 0 {
			threads = []int{m.TID}
		}
		for _, tid := range threads {
			s, found := readStatus(tid, false)
			if !found || !s.sleeps {
				return ""
			}
			stamp = fmt.Appendf(stamp, "%d %d\n", tid, s.switches)
		}
	}
	return string(stamp)
}

// tree lists a process and those below it. Of a process whose first thread has ended before the others, /proc would
// tell of no memory under its own number. In a pid namespace nobody leaves this tree: who loses a parent becomes a
// child of the first process.
func tree(pid int, shared bool) []process { return below(pid, shared, nil) }

func below(pid int, shared bool, list []process) []process {
	p := process{pid: pid}
	s, found := readStatus(pid, shared)
	if found && s.threads == 1 {
		p.take(pid, s)
		return children(p, pid, shared, append(list, p))
	}
	entries, err := os.ReadDir(procFile(pid, "task"))
	if err != nil {
		return list // it has just ended
	}
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		p.threads = append(p.threads, tid)
		if p.tid == 0 {
			if s, found = readStatus(tid, shared); found {
				p.take(tid, s)
			}
			p.ending = p.ending || s.ends
		}
	}
	if p.ending = p.ending && p.tid == 0; p.ending {
		p.tid = pid
	}
	if p.tid != 0 {
		list = append(list, p)
	}
	for _, tid := range p.threads {
		list = children(p, tid, shared, list)
	}
	return list
}

// children adds the processes that a thread has started, and their descendants.
func children(p process, tid int, shared bool, list []process) []process {
	b, _ := read(procFile(p.pid, "task/"+strconv.Itoa(tid)+"/children")) // of one that has just ended there are none
	for _, f := range bytes.Fields(b) {
		if child, err := strconv.Atoi(string(f)); err == nil {
			list = below(child, shared, list)
		}
	}
	return list
}

func sum(list []process) (total int64) {
	for _, p := range list {
		total += p.memory + p.copies
	}
	return total
}

// tableCopies is how often page tables count. What a fork copies is in no process's figures until it has all been
// copied, one copy of an address space at a time; whoever has much of them would double it within milliseconds. Who
// takes no more than its pages need, has a 512th of those.
const tableCopies = 2

type status struct {
	memory, tables, size int64
	threads, number      int
	stopped, sleeps      bool
	ends                 bool  // it has no address space any more, and is not dead yet
	switches             int64 // of context, of the thread
}

// readStatus is what a thread's process holds, with what it shares, in bytes; not found is one that has ended.
func readStatus(tid int, shared bool) (s status, found bool) {
	b, err := read(procFile(tid, "status"))
	if err != nil {
		return s, false
	}
	for line := range bytes.Lines(b) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "State":
			s.stopped = bytes.HasPrefix(bytes.TrimSpace(value), []byte("T"))
			s.sleeps = bytes.HasPrefix(bytes.TrimSpace(value), []byte("S"))
			s.ends = !bytes.ContainsAny(bytes.TrimSpace(value)[:1], "ZX")
		case "RssAnon":
			found, s.ends = true, false
			s.memory += kilobytes(value)
		case "RssShmem":
			if shared {
				s.memory += kilobytes(value)
			}
		case "VmSwap":
			s.memory += kilobytes(value)
		case "VmPTE":
			s.tables = tableCopies * kilobytes(value)
			s.memory += s.tables
		case "VmSize":
			s.size = kilobytes(value)
		case "Threads":
			s.threads, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
			n, _ := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			s.switches += n
		case "NStgid": // the last is the innermost
			s.number, _ = strconv.Atoi(string(value[bytes.LastIndexAny(value, "\t ")+1 : len(value)-1]))
		}
	}
	return s, found
}

// exactly is what a process holds, with its part of what it shares. Where the kernel will not tell, it is all of
// it, since to be unreadable must not be worth anything.
func (p process) exactly(shared bool) int64 {
	b, err := read(procFile(p.tid, "smaps_rollup"))
	if err != nil || len(b) == 0 {
		return p.memory
	}
	var total int64
	for line := range bytes.Lines(b) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "Pss_Anon", "SwapPss":
			total += kilobytes(value)
		case "Pss_Shmem":
			if shared {
				total += kilobytes(value)
			}
		}
	}
	return total + p.tables
}

// kilobytes reads a field such as "  12 kB", in bytes.
func kilobytes(field []byte) int64 {
	n, _ := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(field), []byte(" kB"))), 10, 64)
	return n << 10
}

// read reads a file of /proc, which needs none of what package os does for others.
func read(name string) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 4096)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return b, nil
		}
		if b = b[:len(b)+n]; len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
