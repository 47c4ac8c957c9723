package watchdog

// addUnseen adds to what processes hold what the kernel tells of none. A thread that forks has a copy of its address
// space that is in no list yet, and may have to give it back; one that executes a program, or ends, gives its own back
// when it has left it already. That is at most one for each thread that runs, as large as the process was when it was
// listed last, or as the largest was where it is new.
func (w *Watch) addUnseen(list []process) {
	var now process
	for _, p := range list {
		now.memory, now.tables = max(now.memory, p.memory), max(now.tables, p.tables)
	}
	most := process{memory: max(w.largest.memory, now.memory), tables: max(w.largest.tables, now.tables)}
	w.largest = now
	for i := range list {
		p, before := &list[i], most
		h := w.handles[p.pid]
		if h != nil {
			before.memory, before.tables = h.last, h.tables
		}
		switch {
		case p.ending:
			p.memory, p.tables = before.memory, before.tables
		case p.stopped || p.sleeps:
		default:
			own, each := p.tables/tableCopies, max(p.tables, before.tables)/tableCopies
			p.copies = max(0, int64(max(1, len(p.threads)))*each-(tableCopies-1)*own)
			if h != nil {
				p.copies += max(0, h.last-p.memory)
			}
		}
	}
}

func (p process) ends() bool { return p.ending }
