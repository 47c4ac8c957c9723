package sandbox

import (
	"fmt"
	"slices"
)

// Effective says what a policy comes to on a machine: what will be enforced and by which means, and the
// gaps that the policy does not allow. Whoever starts a guest in spite of such a gap breaks the promise
// of this package.
//
// The word "reduced" allows what that mode never has, see [IsolationReduced]; such gaps are listed in
// Enforcement.Gaps like any other that was allowed.
func Effective(p Policy, r Report) (Enforcement, []Gap) {
	e := Enforcement{
		Runtime:   r.Runtime,
		Isolation: p.Isolation,
		Method:    r.Method,
		Memory:    means(p.Memory > 0, r.Memory),
		Pids:      means(p.Processes > 0, r.Pids),
		CPUs:      means(p.CPUs > 0, r.CPUs),
	}
	reduced := p.Isolation == IsolationReduced
	var gaps []Gap
	open := func(inherent bool, name, format string, args ...any) {
		g := Gap{Name: name, Detail: fmt.Sprintf(format, args...)}
		if inherent || slices.Contains(p.AllowGaps, name) {
			e.Gaps = append(e.Gaps, g)
		} else {
			gaps = append(gaps, g)
		}
	}
	if !r.Seccomp {
		open(false, "isolation", "system calls cannot be filtered (seccomp) here")
	}
	if !reduced && r.Method == methodNone {
		open(false, "isolation", "namespaces cannot be made here, only Landlock and seccomp are left")
	}
	if p.Memory > 0 && r.Memory == meansNone {
		open(false, "memory", "nothing here can hold a guest to %d MiB", p.Memory>>20)
	}
	if p.Processes > 0 && r.Pids == meansNone {
		open(reduced, "pids", "%s", pidsGap(p, reduced))
	}
	if p.CPUs > 0 && r.CPUs == meansNone {
		open(false, "cpus", "a share of %g cores needs a delegated cgroup v2 with the cpu controller", p.CPUs)
	}
	if reduced && (p.TmpSize > 0 || p.WorkSize > 0) {
		open(
			true, "disk",
			"/tmp and /workspace are directories of the host's disk; only the size of one file is limited",
		)
	}
	return e, gaps
}

func pidsGap(p Policy, reduced bool) string {
	if reduced {
		return "the guest is one process, but its threads are limited by memory alone"
	}
	return fmt.Sprintf("%d processes need a delegated cgroup v2 with the pids controller, or Linux 5.14", p.Processes)
}

// means is how something asked for is enforced.
func means(asked bool, how string) string {
	if !asked {
		return meansNone
	}
	return how
}
