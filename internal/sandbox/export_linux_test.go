package sandbox

import "codemode/internal/sandbox/watchdog"

// UseMethod has a native runtime make namespaces in one way only.
func UseMethod(rt Runtime, method string) {
	n := rt.(*native)
	n.remember(method)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.report = nil // of another method
}

// PID is the process of a native sandbox, as the host sees it.
func PID(sb Sandbox) int { return sb.(*nativeSandbox).pid }

// UseMethodOf has programs make namespaces in one way only.
func UseMethodOf(p *Programs, method string) { p.native.remember(method) }

// ReaperPID is the process that watches over a native sandbox.
func ReaperPID(sb Sandbox) int { return sb.(*nativeSandbox).reaper.PID() }

// AheadPID is the process that was started ahead, 0 where there is none.
func AheadPID(a *Ahead) int {
	s := <-a.stage
	a.stage <- s
	if s == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// RemoveTree removes a folder of a guest that has ended.
func RemoveTree(dir string) error { return removeTree(dir) }

// Causes is for what a guest of that one process is ended at once, and for what when a quota would be used up too long.
func Causes(pid int) (now, later ExitCause) {
	q := newQuotas(0)
	q.walk.begin()
	defer q.walk.end()
	list := []watchdog.Member{{PID: pid, TID: pid}}
	now = q.look(list)
	for of := range q.since {
		q.since[of] = q.since[of].Add(-2 * usedUpTime)
	}
	return now, q.look(list)
}
