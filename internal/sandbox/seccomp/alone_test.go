package seccomp

import "testing"

// TestNothingOfOthers holds that a guest without namespaces learns nothing of the machine's processes by their numbers.
func TestNothingOfOthers(t *testing.T) {
	const pid = 4711
	type args = [6]uint64
	for _, tt := range []struct {
		call string
		args args
		want uint32
	}{
		{"getpgid", args{0}, retAllow},
		{"getpgid", args{pid}, retAllow},
		{"getpgid", args{1}, aEPERM},
		{"getsid", args{1}, aEPERM},
		{"sched_getscheduler", args{1}, aEPERM},
		{"sched_getparam", args{1}, aEPERM},
		{"get_robust_list", args{1}, aEPERM},
		{"sched_getaffinity", args{0}, retAllow},
		{"sched_getaffinity", args{1}, aENOSYS},
		{"getpriority", args{0, 0}, retAllow},
		{"getpriority", args{0, 1}, aEPERM},
		{"getpriority", args{2, 0}, aEPERM}, // PRIO_USER
		{"capget", args{}, aEPERM},
		{"clock_gettime", args{1}, retAllow},
		{"clock_gettime", args{0xfffffff2}, errno(einval)}, // of process 1
		{"clock_getres", args{0xfffffff2}, errno(einval)},
		{"clock_gettime", args{0xfffffff6}, retAllow}, // of thread 1
		{"clock_gettime", args{0xffffffe3}, retAllow}, // of descriptor 3
	} {
		for goarch, a := range arches {
			for alone, want := range map[uint32]uint32{0: retAllow, pid: tt.want} {
				prog, err := Filter(goarch, Options{Alone: alone})
				if err != nil {
					t.Fatal(err)
				}
				got, err := run(prog, data{nr: number(t, goarch, tt.call), arch: a.audit, args: tt.args})
				if err != nil || got != want {
					t.Errorf("%s: %s(%#x) alone=%d: %#x, %v; want %#x", goarch, tt.call, tt.args, alone, got, err, want)
				}
			}
		}
	}
}
