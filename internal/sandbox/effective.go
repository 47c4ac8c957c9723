package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// Effective says what a policy comes to on a machine: what will be enforced and by which means, and the
// gaps that the policy does not allow. A caller that starts a guest in spite of such a gap breaks the promise
// of this package.
//
// IsolationReduced implies consent to the gaps that this mode always has; they are in Enforcement.Gaps like gaps that
// were allowed by name.
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
	if len(r.Lacks) > 0 {
		open(false, "isolation", "the pod lacks %s", strings.Join(r.Lacks, ", "))
	}
	if p.Memory > 0 && r.Memory == meansNone {
		open(false, "memory", "nothing here can hold a guest to %d MiB", p.Memory>>20)
	}
	if p.Processes > 0 && r.Pids == meansNone {
		open(
			false, "pids", "%d processes need a delegated cgroup v2 with the pids controller, or Linux 5.14", p.Processes,
		)
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

// means is how something asked for is enforced.
func means(asked bool, how string) string {
	if !asked {
		return meansNone
	}
	return how
}
