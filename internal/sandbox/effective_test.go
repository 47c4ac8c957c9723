package sandbox

import (
	"slices"
	"testing"
)

func TestEffective(t *testing.T) {
	good := Report{
		Runtime: "native", Method: "userns", Landlock: 7, Seccomp: true, Memory: "watchdog", Pids: "rlimit",
		CPUs: "none",
	}
	with := func(change func(*Report)) Report {
		r := good
		change(&r)
		return r
	}
	policy := func(change func(*Policy)) Policy {
		p := DefaultPolicy()
		if change != nil {
			change(&p)
		}
		return p
	}
	for _, tt := range []struct {
		name     string
		policy   Policy
		report   Report
		gaps     []string
		accepted []string
	}{
		{"everything there", policy(nil), good, nil, nil},
		{"no Landlock is no gap", policy(nil), with(func(r *Report) { r.Landlock = 0 }), nil, nil},
		{"no seccomp", policy(nil), with(func(r *Report) { r.Seccomp = false }), []string{"isolation"}, nil},
		{"an engine without seccomp", policy(nil), with(func(r *Report) { r.Runtime, r.Seccomp = "podman", false }), []string{"isolation"}, nil},
		{"a pod that lacks something", policy(nil), with(func(r *Report) { r.Lacks = []string{"runAsNonRoot"} }), []string{"isolation"}, nil},
		{"no namespaces", policy(nil), with(func(r *Report) { r.Method = "none" }), []string{"isolation"}, nil},
		{"no memory", policy(nil), with(func(r *Report) { r.Memory = "none" }), []string{"memory"}, nil},
		{"memory not asked for", policy(func(p *Policy) { p.Memory = 0 }), with(func(r *Report) { r.Memory = "none" }), nil, nil},
		{"no pids", policy(nil), with(func(r *Report) { r.Pids = "none" }), []string{"pids"}, nil},
		{"no pids, allowed", policy(func(p *Policy) { p.AllowGaps = []string{"pids"} }), with(func(r *Report) { r.Pids = "none" }), nil, []string{"pids"}},
		{"another gap allowed", policy(func(p *Policy) { p.AllowGaps = []string{"memory"} }), with(func(r *Report) { r.Pids = "none" }), []string{"pids"}, nil},
		{"cpus", policy(func(p *Policy) { p.CPUs = 1.5 }), good, []string{"cpus"}, nil},
		{"cpus by cgroup", policy(func(p *Policy) { p.CPUs = 1.5 }), with(func(r *Report) { r.CPUs = "cgroup" }), nil, nil},
		{
			"reduced",
			policy(func(p *Policy) { p.Isolation = IsolationReduced }),
			with(func(r *Report) { r.Method, r.Pids = "none", "seccomp" }),
			nil,
			[]string{"disk"},
		},
		{
			"reduced does not allow memory",
			policy(func(p *Policy) { p.Isolation = IsolationReduced }),
			with(func(r *Report) { r.Method, r.Memory = "none", "none" }),
			[]string{"memory"},
			[]string{"disk"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, gaps := Effective(tt.policy, tt.report)
			if got := gapNames(gaps); !slices.Equal(got, tt.gaps) {
				t.Errorf("gaps %v, want %v", got, tt.gaps)
			}
			if got := gapNames(e.Gaps); !slices.Equal(got, tt.accepted) {
				t.Errorf("accepted %v, want %v", got, tt.accepted)
			}
			if e.Isolation != tt.policy.Isolation || e.Method != tt.report.Method {
				t.Errorf("enforcement %+v does not say what it is of", e)
			}
		})
	}
}

// TestEffectiveMeans: what was not asked for is not enforced, whatever a machine could do.
func TestEffectiveMeans(t *testing.T) {
	e, _ := Effective(
		Policy{Isolation: IsolationFull}, Report{Method: "userns", Memory: "cgroup", Pids: "cgroup", CPUs: "cgroup"},
	)
	if e.Memory != "none" || e.Pids != "none" || e.CPUs != "none" {
		t.Errorf("a policy without limits is enforced as %+v", e)
	}
	p := DefaultPolicy()
	e, _ = Effective(p, Report{Method: "userns", Memory: "cgroup", Pids: "rlimit"})
	if e.Memory != "cgroup" || e.Pids != "rlimit" {
		t.Errorf("%+v is enforced as %+v", p, e)
	}
}

func gapNames(gaps []Gap) []string {
	var names []string
	for _, g := range gaps {
		names = append(names, g.Name)
	}
	return names
}

// TestFitFiles: folders in memory are together no larger than it, and as large as they were where they may be.
func TestFitFiles(t *testing.T) {
	for _, tt := range []struct{ memory, a, b, wantA, wantB int64 }{
		{512, 128, 64, 128, 64},
		{192, 128, 64, 128, 64},
		{96, 64, 128, 38, 57}, // of 64 and 96
		{96, 0, 32, 72, 24},
		{96, 0, 0, 48, 48},
	} {
		a, b := tt.a, tt.b
		FitFiles(tt.memory, &a, &b)
		if a != tt.wantA || b != tt.wantB {
			t.Errorf("%d and %d within %d are %d and %d, want %d and %d", tt.a, tt.b, tt.memory, a, b, tt.wantA, tt.wantB)
		}
	}
}

// TestMaxStack: what all threads hand to programs that they execute is no more than a fourth of a watched limit, but
// for the least that the kernel lets each have.
func TestMaxStack(t *testing.T) {
	for _, c := range []struct {
		memory    int64
		processes int
		watched   bool
		want      int64
	}{
		{512 << 20, 128, true, 4 << 20},
		{512 << 20, 128, false, 8 << 20},
		{128 << 20, 128, true, 1 << 20},
		{16 << 20, 128, true, 512 << 10},
		{8 << 30, 128, true, 8 << 20},
		{0, 128, true, 8 << 20},
		{512 << 20, 0, true, 8 << 20},
	} {
		p := Policy{Memory: c.memory, Processes: c.processes}
		if got := p.MaxStack(c.watched); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
