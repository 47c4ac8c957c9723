package seccomp

import (
	"strings"
	"testing"
)

// TestAskThreads holds that where threads are asked about, no call makes one unasked, and that no other call is.
func TestAskThreads(t *testing.T) {
	for goarch, a := range arches {
		ask, err := AskThreads(goarch)
		if err != nil {
			t.Fatal(err)
		}
		filter, err := Filter(goarch, Options{Alone: 4711})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			nr := a.number(c)
			if nr == none {
				continue
			}
			call := data{nr: uint32(nr), arch: a.audit, args: [6]uint64{aThread}}
			asked, err := run(ask, call)
			if want := map[bool]uint32{true: retAsk, false: retAllow}[c.name == "clone"]; asked != want || err != nil {
				t.Errorf("%s: %s: %#x, %v; want %#x", goarch, c.name, asked, err, want)
			}
			switch c.name {
			case "fork", "vfork", "clone3":
				if got, _ := run(filter, call); got == retAllow {
					t.Errorf("%s: %s is allowed, and nobody is asked about it", goarch, c.name)
				}
			}
		}
	}
	if _, err := AskThreads("pdp11"); err == nil {
		t.Error("there is a filter for an architecture whose calls are not known")
	}
}

// aThread is what the C library makes a thread with: clone(2)'s CLONE_VM, _FS, _FILES, _SIGHAND, _THREAD, _SYSVSEM,
// _SETTLS, _PARENT_SETTID and _CHILD_CLEARTID.
const aThread = 0x3d0f00

// TestGuest: beside a filter that lets the init hide itself, a guest may neither do that nor have filters, and makes no
// session where it is to have one.
func TestGuest(t *testing.T) {
	for goarch, a := range arches {
		for opts, want := range map[Options]uint32{{OneSession: true}: aEPERM, {}: retAllow} {
			prog, err := Guest(goarch, opts)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := run(prog, data{nr: number(t, goarch, "setsid"), arch: a.audit}); got != want || err != nil {
				t.Errorf("%s, %+v: setsid: %#x, %v; want %#x", goarch, opts, got, err, want)
			}
		}
		prog, err := Guest(goarch, Options{OneSession: true})
		if err != nil {
			t.Fatal(err)
		}
		for option, want := range map[uint64]uint32{3: retAllow, 4: aEPERM, 1<<32 | 4: aEPERM, 15: retAllow, 22: aEPERM} {
			got, err := run(prog, data{nr: number(t, goarch, "prctl"), arch: a.audit, args: [6]uint64{option}})
			if err != nil || got != want {
				t.Errorf("%s: prctl(%#x) is %#x, %v, want %#x", goarch, option, got, err, want)
			}
		}
		if got, err := run(prog, data{nr: number(t, goarch, "read"), arch: a.audit, args: [6]uint64{4}}); got != retAllow {
			t.Errorf("%s: read is %#x, %v", goarch, got, err)
		}
	}
}

func TestEncode(t *testing.T) {
	got := Encode([]Insn{{Code: 0x0102, Jt: 3, Jf: 4, K: 0x05060708}})
	if want := "\x02\x01\x03\x04\x08\x07\x06\x05"; string(got) != want {
		t.Errorf("Encode = %q, want %q", got, want)
	}
}

func TestUnknownArchitecture(t *testing.T) {
	if _, err := Filter("mips", Options{}); err == nil || !strings.Contains(err.Error(), `"mips"`) {
		t.Errorf("Filter(mips) = %v, want an error that names it", err)
	}
}

// TestPriority: a guest sets the priority of its own processes, one at a time, and not that of an init beside it. A
// server in a sandbox, with nobody beside it, also that of a group.
func TestPriority(t *testing.T) {
	for goarch, a := range arches {
		for _, tt := range []struct {
			which, who         uint64
			guest, init, other uint32 // the answer to a guest, to one beside an init, and to a server
		}{
			{0, 0, retAllow, retAllow, retAllow},
			{0, 7, retAllow, retAllow, retAllow},
			{0, 1, retAllow, aEPERM, retAllow},
			{0, 1<<32 | 1, retAllow, aEPERM, retAllow},
			{1, 0, aEPERM, aEPERM, retAllow}, // PRIO_PGRP
			{2, 0, aEPERM, aEPERM, retAllow}, // PRIO_USER
		} {
			for opts, want := range map[Options]uint32{{}: tt.guest, {Init: true}: tt.init, {Program: true}: tt.other} {
				prog, err := Filter(goarch, opts)
				if err != nil {
					t.Fatal(err)
				}
				call := data{nr: number(t, goarch, "setpriority"), arch: a.audit, args: [6]uint64{tt.which, tt.who, 19}}
				if got, err := run(prog, call); got != want || err != nil {
					t.Errorf("%s, %+v: of %d, %#x: %#x, %v; want %#x", goarch, opts, tt.which, tt.who, got, err, want)
				}
			}
		}
	}
}
