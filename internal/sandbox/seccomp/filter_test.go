package seccomp

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// data is struct seccomp_data: what the kernel hands a filter.
type data struct {
	nr   uint32
	arch uint32
	args [6]uint64
}

func (d data) bytes() []byte {
	b := binary.LittleEndian.AppendUint32(nil, d.nr)
	b = binary.LittleEndian.AppendUint32(b, d.arch)
	b = binary.LittleEndian.AppendUint64(b, 0) // instruction pointer
	for _, a := range d.args {
		b = binary.LittleEndian.AppendUint64(b, a)
	}
	return b
}

// run interprets a filter: the part of classic BPF that filters here use.
func run(prog []Insn, d data) (uint32, error) {
	mem, acc := d.bytes(), uint32(0)
	for pc := 0; pc < len(prog); pc++ {
		in := prog[pc]
		branch := func(yes bool) {
			if yes {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		}
		switch in.Code {
		case opLoad:
			acc = binary.LittleEndian.Uint32(mem[in.K:])
		case opAnd:
			acc &= in.K
		case opJeq:
			branch(acc == in.K)
		case opJge:
			branch(acc >= in.K)
		case opJset:
			branch(acc&in.K != 0)
		case opRet:
			return in.K, nil
		default:
			return 0, fmt.Errorf("instruction %d: unknown code %#x", pc, in.Code)
		}
	}
	return 0, fmt.Errorf("fell off the end")
}

func number(t *testing.T, goarch, name string) uint32 {
	t.Helper()
	for _, c := range calls {
		if c.name == name {
			if n := arches[goarch].number(c); n != none {
				return uint32(n)
			}
		}
	}
	t.Fatalf("%s has no call %q", goarch, name)
	return 0
}

const (
	aEPERM  = retErrno | eperm
	aEACCES = retErrno | eacces
	aENOSYS = retErrno | enosys

	aENOTSUP = retErrno | enotsup
)

// TestEveryCall runs every row of the table, and every number around it, through both filters.
func TestEveryCall(t *testing.T) {
	for goarch, a := range arches {
		prog, err := Filter(goarch, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[uint32]verdict{}
		for _, c := range calls {
			if n := a.number(c); n != none {
				want[uint32(n)] = c.verdict
			}
		}
		for nr := uint32(0); nr < 1024; nr++ {
			got, err := run(prog, data{nr: nr, arch: a.audit})
			if err != nil {
				t.Fatalf("%s: call %d: %v", goarch, nr, err)
			}
			switch want[nr] {
			case allow:
				if got != retAllow {
					t.Errorf("%s: call %d = %#x, want it allowed", goarch, nr, got)
				}
			case refuse:
				if got != aEPERM {
					t.Errorf("%s: call %d = %#x, want EPERM", goarch, nr, got)
				}
			case lack:
				if got != errno(einval) {
					t.Errorf("%s: call %d = %#x, want EINVAL", goarch, nr, got)
				}
			case 0:
				if got != aENOSYS {
					t.Errorf("%s: call %d = %#x, want ENOSYS", goarch, nr, got)
				}
			}
		}
	}
}

func TestChecks(t *testing.T) {
	const pid = 4711
	type args = [6]uint64
	for _, tt := range []struct {
		call  string
		args  args
		want  uint32 // of a guest with namespaces
		alone uint32 // of one without
	}{
		{"socket", args{1, 1 | 0x80800}, retAllow, aEACCES},
		{"socket", args{1, 2}, aEACCES, aEACCES},      // SOCK_DGRAM, of which what was sent outlives its sender
		{"socket", args{1, 3}, aEACCES, aEACCES},      // SOCK_RAW, which is the same
		{"socket", args{1, 5}, aEACCES, aEACCES},      // SOCK_SEQPACKET
		{"socket", args{2}, aEACCES, aEACCES},         // AF_INET
		{"socket", args{40}, aEACCES, aEACCES},        // AF_VSOCK
		{"socket", args{1<<32 | 2}, aEACCES, aEACCES}, // the kernel reads an int
		{"socketpair", args{1, 1 | 0x80800}, retAllow, retAllow},
		{"socketpair", args{1, 2}, aEACCES, aEACCES}, // SOCK_DGRAM can be reconnected
		{"socketpair", args{16, 1}, aEACCES, aEACCES},
		{"setsockopt", args{0, 1, 7}, aEPERM, aEPERM},          // SO_SNDBUF
		{"setsockopt", args{0, 1, 33}, aEPERM, aEPERM},         // SO_RCVBUFFORCE
		{"setsockopt", args{0, 1, 26}, aEPERM, aEPERM},         // SO_ATTACH_FILTER
		{"setsockopt", args{0, 1<<32 | 1, 50}, aEPERM, aEPERM}, // SO_ATTACH_BPF; the kernel reads an int
		{"setsockopt", args{0, 1, 2}, retAllow, retAllow},
		{"setsockopt", args{0, 6, 7}, retAllow, retAllow},
		{"clone", args{17}, retAllow, aEPERM},
		{"clone", args{0x3d0f00}, retAllow, retAllow}, // a thread, as glibc makes it
		{"clone", args{0x3d0b00}, aEPERM, aEPERM},     // one with descriptors of its own
		{"clone", args{0x10000000 | 17}, aEPERM, aEPERM},
		{"clone", args{0x4100 | 17}, retAllow, aEPERM}, // vfork
		{"clone", args{0x100 | 17}, aEPERM, aEPERM},    // a process with another's memory, beside it
		{"clone", args{0x400 | 17}, aEPERM, aEPERM},    // a process with another's descriptors
		{"clone", args{0x00020000 | 17}, aEPERM, aEPERM},
		{"clone3", args{}, aENOSYS, aENOSYS},
		{"close_range", args{3, 9, 4}, retAllow, retAllow},
		{"close_range", args{3, 9, 2}, aEPERM, aEPERM}, // descriptors of its own
		{"ioctl", args{0, 0x5412}, aEPERM, aEPERM},
		{"ioctl", args{0, 0xdead00005412}, aEPERM, aEPERM}, // CVE-2023-28100: high bits set
		{"ioctl", args{0, 0x541c}, aEPERM, aEPERM},
		{"ioctl", args{0, 0x5401}, retAllow, retAllow},
		{"ioctl", args{0, 0x541b}, retAllow, retAllow},     // FIONREAD
		{"ioctl", args{0, 0x802c542a}, retAllow, retAllow}, // TCGETS2
		{"ioctl", args{0, ficlone}, retAllow, retAllow},    // of a file that is open for writing
		{"ioctl", args{0, 0x5423}, aEPERM, aEPERM},         // TIOCSETD
		{"ioctl", args{0, 0x40045431}, aEPERM, aEPERM},     // TIOCSPTLCK
		{"ioctl", args{0, 0x5441}, aEPERM, aEPERM},         // TIOCGPTPEER
		{"ioctl", args{0, 0x8901}, aENOTSUP, aENOTSUP},     // FIOSETOWN
		{"ioctl", args{0, 0x40086602}, aENOTSUP, aENOTSUP}, // FS_IOC_SETFLAGS: a descriptor to read is enough
		{"ioctl", args{0, 0x401c5820}, aENOTSUP, aENOTSUP}, // FS_IOC_FSSETXATTR
		{"ioctl", args{0, 0x81009431}, aENOTSUP, aENOTSUP}, // FS_IOC_GETFSLABEL
		{"fchmod", args{3, 0o600}, retAllow, aEPERM},
		{"fchmodat2", args{}, retAllow, aEPERM},
		{"fchown", args{}, retAllow, aEPERM},
		{"utimensat", args{3, 0, 0}, retAllow, aEPERM},
		{"fsetxattr", args{}, aEPERM, aEPERM},
		{"getxattr", args{}, retAllow, aENOTSUP},
		{"truncate", args{}, retAllow, aEPERM},
		{"openat", args{0, 0, 0}, retAllow, retAllow},
		{"openat", args{0, 0, 0x241, 0o666}, retAllow, retAllow}, // O_CREAT | O_TRUNC | O_WRONLY
		{"openat", args{0, 0, 0x241, 0o4755}, retAllow, aEPERM},
		{"openat", args{0, 0, 0x200}, retAllow, aEPERM},  // O_TRUNC | O_RDONLY
		{"openat", args{0, 0, 0x8003}, retAllow, aEPERM}, // for neither reading nor writing
		{"openat2", args{}, retAllow, aENOSYS},
		{"mknodat", args{}, aEPERM, aEPERM},
		{"sendmsg", args{3}, aEPERM, aEPERM},
		{"sendmmsg", args{3}, aEPERM, aEPERM},
		{"personality", args{0xffffffff}, retAllow, retAllow},
		{"personality", args{0x0040000}, aEPERM, aEPERM},
		{"prctl", args{1, 0}, aEPERM, aEPERM}, // PR_SET_PDEATHSIG
		{"prctl", args{15}, retAllow, retAllow},
		{"prctl", args{22}, aEPERM, aEPERM},         // PR_SET_SECCOMP
		{"prctl", args{0x53564d41}, aEPERM, aEPERM}, // PR_SET_VMA
		{"kill", args{1}, retAllow, aEPERM},
		{"kill", args{pid}, retAllow, retAllow},
		{"tgkill", args{pid, 5}, retAllow, retAllow},
		{"prlimit64", args{0}, retAllow, retAllow},
		{"prlimit64", args{1}, retAllow, aEPERM},
		{"prlimit64", args{1, 7, 0x1000}, aEPERM, aEPERM},
		{"prlimit64", args{1, 7, 0x7f00000000}, aEPERM, aEPERM},
		{"prctl", args{4}, aEPERM, aEPERM}, // PR_SET_DUMPABLE
		{"prlimit64", args{0, 4, 0}, retAllow, retAllow},
		{"prlimit64", args{0, 4, 0x1000}, aEPERM, aEPERM},
		{"prlimit64", args{0, 4, 0x7f0000000000}, aEPERM, aEPERM},
		{"prlimit64", args{0, 7, 0x7f0000000000}, retAllow, retAllow},
		{"setrlimit", args{4, 0x1000}, aEPERM, aEPERM},
		{"setrlimit", args{7, 0x1000}, retAllow, retAllow},
		{"sendto", args{3, 0, 0, 0, 0, 0}, retAllow, retAllow},
		{"sendto", args{3, 0, 0, 0, 0x7f0000000000, 16}, retAllow, aEACCES},
		{"sendto", args{3, 0, 0, 1, 0, 0}, aENOTSUP, aENOTSUP}, // MSG_OOB
		{"connect", args{3}, retAllow, aEACCES},
		{"fallocate", args{3, 0, 0, 1}, aENOTSUP, aENOTSUP},
		{"renameat2", args{0, 0, 0, 0, 1}, retAllow, retAllow}, // RENAME_NOREPLACE
		{"renameat2", args{0, 0, 0, 0, 4 | 1}, aEPERM, aEPERM}, // RENAME_WHITEOUT
		{"futex", args{0, 0}, retAllow, retAllow},
		{"futex", args{0, 1 | 256}, retAllow, retAllow},
		{"futex", args{0, 128 | 4}, retAllow, retAllow},  // of this process alone
		{"futex", args{0, 3}, aEPERM, aEPERM},            // FUTEX_REQUEUE
		{"futex", args{0, 4}, aEPERM, aEPERM},            // FUTEX_CMP_REQUEUE
		{"futex", args{0, 256 | 11}, aENOSYS, aENOSYS},   // FUTEX_WAIT_REQUEUE_PI, by the clock of the day
		{"futex", args{0, 1<<32 | 12}, aENOSYS, aENOSYS}, // FUTEX_CMP_REQUEUE_PI; the kernel reads an int
		{"futex", args{0, 128 | 8}, aENOSYS, aENOSYS},    // FUTEX_TRYLOCK_PI
		{"futex", args{0, 13}, aENOSYS, aENOSYS},         // FUTEX_LOCK_PI2
		{"fcntl", args{3, 8}, aEPERM, aEPERM},            // F_SETOWN
		{"fcntl", args{3, 6}, retAllow, retAllow},
		{"fcntl", args{3, 37}, aEPERM, aEPERM},   // F_OFD_SETLK
		{"fcntl", args{3, 1036}, aEPERM, aEPERM}, // F_SET_RW_HINT
		{"fcntl", args{3, 3}, retAllow, retAllow},
		{"fcntl", args{3, 1024}, aEPERM, aEPERM}, // F_SETLEASE
		{"fcntl", args{3, 1026}, aEPERM, aEPERM}, // F_NOTIFY
		{"fcntl", args{3, 1031}, aEPERM, aEPERM}, // F_SETPIPE_SZ
		{"prctl", args{4, 0}, aEPERM, aEPERM},    // PR_SET_DUMPABLE
		{"shmget", args{}, aEPERM, aEPERM},
		{"semtimedop", args{}, aEPERM, aEPERM},
		{"inotify_add_watch", args{}, aEPERM, aEPERM},
		{"mmap", args{0, 4096, 3, 0x21}, retAllow, retAllow},
		{"mmap", args{0, 4096, 3, 0x40022}, aEPERM, aEPERM}, // MAP_HUGETLB
		{"fchmodat", args{}, retAllow, aEPERM},
		{"mount", args{}, aEPERM, aEPERM},
		{"io_uring_setup", args{}, aEPERM, aEPERM},
	} {
		for goarch, a := range arches {
			for alone, want := range map[uint32]uint32{0: tt.want, pid: tt.alone} {
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

// TestProgram holds what an ordinary program may do that a guest may not, and that all else stays refused.
func TestProgram(t *testing.T) {
	type args = [6]uint64
	for _, tt := range []struct {
		call string
		args args
		want uint32
	}{
		{"socket", args{1, 1 | 0x80800}, retAllow},
		{"socket", args{1, 5}, retAllow},
		{"socket", args{1, 2}, aEACCES}, // SOCK_DGRAM
		{"socket", args{1, 3}, aEACCES}, // SOCK_RAW, which is the same
		{"socketpair", args{1, 1}, retAllow},
		{"socketpair", args{1, 2}, aEACCES},
		{"socket", args{2, 1, 6}, retAllow},
		{"socket", args{10, 2, 17}, retAllow},
		{"socket", args{2, 2, 0}, retAllow},
		{"socket", args{2, 1, 132}, aEACCES},  // SCTP
		{"socket", args{10, 1, 262}, aEACCES}, // MPTCP
		{"socket", args{16, 3, 6}, aEACCES},   // NETLINK_XFRM
		{"socket", args{16, 3, 0}, retAllow},  // NETLINK_ROUTE
		{"socket", args{16, 3, 9}, aEACCES},   // NETLINK_AUDIT
		{"socket", args{17, 3, 0}, aEACCES},   // AF_PACKET
		{"socket", args{40}, aEACCES},         // AF_VSOCK
		{"socket", args{1<<32 | 40}, aEACCES}, // the kernel reads an int
		{"socketpair", args{2, 1}, aEACCES},
		{"setsockopt", args{0, 1, 7}, retAllow},
		{"setsockopt", args{0, 1, 26}, aEPERM}, // SO_ATTACH_FILTER
		{"setsockopt", args{0, 6, 26}, retAllow},
		{"sendto", args{3, 0, 0, 1}, retAllow},
		{"mmap", args{0, 4096, 3, 0x21}, retAllow},
		{"mmap", args{0, 4096, 3, 0x40022}, aEPERM}, // MAP_HUGETLB
		{"memfd_create", args{}, retAllow},
		{"memfd_create", args{0, 5}, aEPERM}, // MFD_HUGETLB
		{"sendmsg", args{}, retAllow},
		{"fchmod", args{3, 0o600}, retAllow},
		{"fchmod", args{3, 0o4755}, aEPERM},
		{"openat", args{0, 0, 0x241, 0o4755}, aEPERM},
		{"openat", args{0, 0, 0x200, 0}, retAllow},
		{"mknodat", args{0, 0, 0o10600}, retAllow},
		{"inotify_add_watch", args{}, retAllow},
		{"prctl", args{1, 0}, retAllow},
		{"prctl", args{4, 0}, retAllow},
		{"prctl", args{0x53564d41}, retAllow},
		{"fcntl", args{3, 37}, retAllow},
		{"fcntl", args{3, 1036}, aEPERM}, // F_SET_RW_HINT, of a file that it may read
		{"prctl", args{22}, aEPERM},      // PR_SET_SECCOMP
		{"clone", args{17}, retAllow},
		{"clone", args{0x10000000 | 17}, aEPERM},
		{"clone3", args{}, aENOSYS},
		{"ioctl", args{0, 0xdead00005412}, aEPERM},
		{"personality", args{0x0040000}, aEPERM},
	} {
		for goarch, a := range arches {
			for _, watched := range []bool{false, true} {
				prog, err := Filter(goarch, Options{Program: true, Watched: watched})
				if err != nil {
					t.Fatal(err)
				}
				got, err := run(prog, data{nr: number(t, goarch, tt.call), arch: a.audit, args: tt.args})
				if err != nil || got != tt.want {
					t.Errorf("%s: %s(%#x): %#x, %v; want %#x", goarch, tt.call, tt.args, got, err, tt.want)
				}
			}
		}
	}
	prog, err := Filter("amd64", Options{Program: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"unshare", "setns", "mount", "umount2", "pivot_root", "move_mount", "open_tree", "ptrace",
		"process_vm_readv", "process_vm_writev",
		"bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "io_uring_setup", "kexec_load",
		"init_module", "finit_module",
		"reboot", "seccomp", "pidfd_getfd", "open_by_handle_at", "chroot", "capset", "shmget",
	} {
		if got, err := run(prog, data{nr: number(t, "amd64", name), arch: arches["amd64"].audit}); got != aEPERM ||
			err != nil {
			t.Errorf("%s: %#x, %v; want EPERM", name, got, err)
		}
	}
}

func TestWatched(t *testing.T) {
	for flags, want := range map[uint64]uint32{
		0x01:           retAllow, // a shared mapping of a file
		0x02:           retAllow,
		0x22:           retAllow, // memory of the process's own
		0x21:           aEPERM,
		0x4021:         aEPERM, // MAP_NORESERVE
		0x8022:         aEPERM, // MAP_POPULATE
		0x2022:         aEPERM, // MAP_LOCKED
		0x40022:        aEPERM, // MAP_HUGETLB
		0x23:           aEPERM, // MAP_SHARED_VALIDATE
		0xdead00000021: aEPERM,
	} {
		for goarch, a := range arches {
			for _, alone := range []uint32{0, 4711} {
				prog, err := Filter(goarch, Options{Alone: alone, Watched: true})
				if err != nil {
					t.Fatal(err)
				}
				call := data{nr: number(t, goarch, "mmap"), arch: a.audit, args: [6]uint64{0, 4096, 3, flags}}
				if got, err := run(prog, call); got != want || err != nil {
					t.Errorf("%s: mmap with flags %#x: %#x, %v; want %#x", goarch, flags, got, err, want)
				}
			}
		}
	}
}

// TestClosed holds that a guest that sees folders of its user's connects to no socket in them, and leaves no set-id
// bits.
func TestClosed(t *testing.T) {
	type args = [6]uint64
	for _, tt := range []struct {
		call string
		args args
		want uint32
	}{
		{"socket", args{1}, aEACCES},
		{"socket", args{1, 2}, aEACCES},
		{"socketpair", args{1, 1 | 0x80800}, retAllow},
		{"socketpair", args{1, 2}, aEACCES}, // SOCK_DGRAM can be reconnected
		{"fchmod", args{3, 0o700}, retAllow},
		{"fchmodat", args{3, 0, 0o4755}, aEPERM},
		{"openat", args{0, 0, 0x241, 0o644}, retAllow},
		{"openat", args{0, 0, 0x241, 0o2755}, aEPERM},
		{"openat", args{0, 0, 0, 0o4755}, retAllow}, // which has no mode
		{"openat2", args{}, aENOSYS},
	} {
		for goarch, a := range arches {
			prog, err := Filter(goarch, Options{Closed: true})
			if err != nil {
				t.Fatal(err)
			}
			got, err := run(prog, data{nr: number(t, goarch, tt.call), arch: a.audit, args: tt.args})
			if err != nil || got != tt.want {
				t.Errorf("%s: %s(%#x): %#x, %v; want %#x", goarch, tt.call, tt.args, got, err, tt.want)
			}
		}
	}
}

func TestOneSession(t *testing.T) {
	for opts, want := range map[Options]uint32{{OneSession: true}: aEPERM, {}: retAllow, {Program: true}: retAllow} {
		for goarch, a := range arches {
			prog, err := Filter(goarch, opts)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := run(prog, data{nr: number(t, goarch, "setsid"), arch: a.audit}); got != want || err != nil {
				t.Errorf("%s, %+v: setsid: %#x, %v; want %#x", goarch, opts, got, err, want)
			}
		}
	}
}

func TestForeignABIs(t *testing.T) {
	for _, tt := range []struct {
		goarch string
		data   data
	}{
		{"amd64", data{nr: 39, arch: 0x40000003}},          // int 0x80
		{"amd64", data{nr: x32Bit | 39, arch: 0xc000003e}}, // x32
		{"arm64", data{nr: 172, arch: 0x40000028}},         // 32-bit ARM
		{"arm64", data{nr: 172, arch: 0xc000003e}},
	} {
		prog, err := Filter(tt.goarch, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := run(prog, tt.data); got != retKill || err != nil {
			t.Errorf("%s: %+v = %#x, %v; want it killed", tt.goarch, tt.data, got, err)
		}
	}
}

// TestNumbers compares the table with the numbers golang.org/x/sys/unix was generated with, for
// both architectures on either.
func TestNumbers(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	if err != nil {
		t.Skipf("finding the source of golang.org/x/sys/unix: %v", err)
	}
	line := regexp.MustCompile(`SYS_(\w+)\s*=\s*(\d+)`)
	for goarch, a := range arches {
		src, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "zsysnum_linux_"+goarch+".go"))
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]int{}
		for _, m := range line.FindAllStringSubmatch(string(src), -1) {
			known[strings.ToLower(m[1])], _ = strconv.Atoi(m[2])
		}
		for _, c := range calls {
			want, ok := known[c.name]
			if !ok {
				want = none
			}
			if got := int(a.number(c)); got != want {
				t.Errorf("%s: %s = %d, want %d", goarch, c.name, got, want)
			}
		}
	}
}
