package seccomp

import "testing"

// TestTimers holds that a guest has no timer that fires to the microsecond: none that sends a signal or is a
// descriptor, and none by a lock's wait.
func TestTimers(t *testing.T) {
	const which = 1 << 32 // the kernel looks at the low half alone
	for goarch, a := range arches {
		for opts, want := range map[Options]uint32{
			{}:                             aENOSYS,
			{Watched: true}:                aENOSYS,
			{Watched: true, Alone: 4711}:   aENOSYS,
			{Init: true, Closed: true}:     aENOSYS,
			{Program: true}:                retAllow,
			{Watched: true, Program: true}: retAllow,
		} {
			prog, err := Filter(goarch, opts)
			if err != nil {
				t.Fatal(err)
			}
			for _, timer := range []data{
				{nr: number(t, goarch, "timer_create")},
				{nr: number(t, goarch, "timerfd_create")},
				{nr: number(t, goarch, "futex_waitv")},
				{nr: number(t, goarch, "futex"), args: [6]uint64{0, 6}},
				{nr: number(t, goarch, "futex"), args: [6]uint64{0, 128 | 13}},
				{nr: number(t, goarch, "setitimer"), args: [6]uint64{0}},
				{nr: number(t, goarch, "setitimer"), args: [6]uint64{which}},
			} {
				timer.arch = a.audit
				if got, err := run(prog, timer); got != want || err != nil {
					t.Errorf("%s, %+v: %+v: %#x, %v; want %#x", goarch, opts, timer, got, err, want)
				}
			}
			for _, ofProcessor := range []uint64{1, 2} {
				call := data{nr: number(t, goarch, "setitimer"), arch: a.audit, args: [6]uint64{ofProcessor}}
				if got, err := run(prog, call); got != retAllow || err != nil {
					t.Errorf("%s, %+v: setitimer(%d): %#x, %v", goarch, opts, ofProcessor, got, err)
				}
			}
		}
	}
}

// TestRestricting holds that an init has Landlock, and neither its guest nor any other.
func TestRestricting(t *testing.T) {
	for goarch, a := range arches {
		guest, err := Guest(goarch, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range restricting {
			call := data{nr: number(t, goarch, name), arch: a.audit}
			for opts, want := range map[Options]uint32{{}: aENOSYS, {Program: true}: aENOSYS, {Init: true}: retAllow} {
				prog, err := Filter(goarch, opts)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := run(prog, call); got != want || err != nil {
					t.Errorf("%s, %+v: %s: %#x, %v; want %#x", goarch, opts, name, got, err, want)
				}
			}
			if got, err := run(guest, call); got != aENOSYS || err != nil {
				t.Errorf("%s: %s of the guest: %#x, %v", goarch, name, got, err)
			}
		}
	}
}
