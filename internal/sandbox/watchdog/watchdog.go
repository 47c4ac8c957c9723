// Package watchdog measures the memory of a guest where the kernel does not limit it, and stops who is measured.
//
// It counts what processes hold, their page tables, also those that forks may be copying and ends may be giving back,
// what is in the guest's tmpfs, and roughly what is in its sockets and what the kernel keeps of mappings. A quick look
// reads each process's own figures, and counts pages that processes share more than once. Where that is above the
// limit, all of the guest is stopped (SIGSTOP) and counted page by page: nothing can be taken meanwhile, however long
// it takes. From then on it has that and at most a page for each page fault of the machine since (its huge pages are
// off), so it is stopped again only when that could be too much. How soon the next look comes goes by how much is left.
// One that comes late begins with stopping whom it knows, when the limit may have been reached by then: to list
// processes takes time, too. One that a process makes wait stops them meanwhile.
//
// It kills nothing: its caller does, the guest's reaper.
package watchdog

// A Guest is whom to watch.
type Guest struct {
	PID       int      // its first process
	Limit     int64    // bytes
	Processes int      // that it may have at a time; 0 is any number
	Dirs      []string // in memory, as the guest sees them
	Sockets   bool     // it has a network namespace, whose Unix sockets are counted
	Shared    bool     // it may have shared memory that is in no file of those directories
}
